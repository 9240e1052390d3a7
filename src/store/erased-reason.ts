/**
 * The reason of a delivery that an erasure failed. It also replaces the reason of a delivery that had
 * failed before.
 */
export const erasedReason = 'erased'
