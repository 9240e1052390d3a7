/** How the parts of a store do their work: within its transactions, as one of its methods. */
export interface Work {
  /** Does it in a transaction, with what others hand in meanwhile; it may be done again. */
  write<Result>(task: () => Result): Promise<Result>
  /** Does it outside of any. */
  read<Result>(task: () => Result): Promise<Result>
}
