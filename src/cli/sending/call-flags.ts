/** What a call made on the command line may be given. */
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

/** The fields of a call that have a flag of their own. */
export const fieldNames: readonly FieldName[] = [
  'event',
  'userId',
  'anonymousId',
  'groupId',
  'previousId',
  'name',
]

/** A field of a call that has a flag of its own. */
export type FieldName = Exclude<keyof CallFlags, 'timestamp' | 'integration'>

/** The flag that sets a field: `userId` is `--user-id`. */
export function flagName(field: string): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
