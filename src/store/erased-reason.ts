/** Why a delivery failed that was erased, or what took the place of another reason when it was. */
export const erasedReason = 'erased'
