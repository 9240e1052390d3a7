/** The flags that set the fields of a call. */
export interface CallFlags {
  /** `--event` */
  readonly event?: string
  /** `--user-id` */
  readonly userId?: string
  /** `--anonymous-id` */
  readonly anonymousId?: string
  /** `--group-id` */
  readonly groupId?: string
  /** `--previous-id` */
  readonly previousId?: string
  /** `--name` */
  readonly name?: string
  /** `--timestamp` */
  readonly timestamp?: string
  /** `--integration` */
  readonly integration?: Readonly<Record<string, boolean>>
}

/** The fields that have a flag. */
export const fieldNames: readonly FieldName[] = [
  'event',
  'userId',
  'anonymousId',
  'groupId',
  'previousId',
  'name',
]

/** A field that has a flag. */
export type FieldName = Exclude<keyof CallFlags, 'timestamp' | 'integration'>

/** The flag of a field: `userId` has `--user-id`. */
export function flagName(field: string): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
