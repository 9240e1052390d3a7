/** The key of a delivery in a store. */
export interface DeliveryKey {
  readonly destinationId: string
  /** Unique among the deliveries of the destination. Later deliveries have greater ids. */
  readonly id: number
}

/** Writes a delivery's id as people see and type it: `<destination>/<number>`. */
export function formatDeliveryId({ destinationId, id }: DeliveryKey): string {
  return `${destinationId}/${id}`
}

/** Parses an id in the format of {@link formatDeliveryId}; undefined for any other text. */
export function parseDeliveryId(text: string): DeliveryKey | undefined {
  const [, destinationId, id] = /^(.+)\/(\d{1,15})$/s.exec(text) ?? []
  return destinationId === undefined ? undefined : { destinationId, id: Number(id) }
}
