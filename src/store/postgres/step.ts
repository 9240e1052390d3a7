/** A step in the history of the tables. */
export interface Step {
  /**
   * `expand`: it only adds, so that processes of the version before go on and can be started again.
   * `contract`: from then on the store can be used only by versions that know the step. What a release
   * no longer needs is taken away by the release after it.
   */
  readonly kind: 'expand' | 'contract'
  /** Changes that take no time, all or nothing. */
  readonly changes: readonly string[]
  /** What takes long where there are many rows: it is done beside those who use the store. */
  readonly online?: OnlineWork
}

/** Work beside those who use the store. It can be interrupted at any moment, and begins again then. */
export interface OnlineWork {
  /** Indexes to build: their names, and what stands behind `CREATE INDEX name`. */
  readonly indexes: readonly { readonly name: string; readonly on: string }[]
  /** Then, statements that run outside a transaction. */
  readonly statements: readonly string[]
}
