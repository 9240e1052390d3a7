/** A step in the history of the tables. */
export interface Step {
  /**
   * `expand`: the step only adds, so that processes of the version before continue and can be started
   * again. `contract`: from this step on, only versions that know it can use the store. The release
   * after the one that stopped using something removes it.
   */
  readonly kind: 'expand' | 'contract'
  /** Changes that take no time, in one transaction. */
  readonly changes: readonly string[]
  /** Work that takes long for many rows. It is done while processes use the store. */
  readonly online?: OnlineWork
}

/**
 * Work that is done while processes use the store. It can be interrupted at any moment, and then
 * begins again.
 */
export interface OnlineWork {
  /** Indexes to build: their names, and the text after `CREATE INDEX name`. */
  readonly indexes: readonly { readonly name: string; readonly on: string }[]
  /** Statements that run after that, outside a transaction. */
  readonly statements: readonly string[]
}
