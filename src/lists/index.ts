/** Lists of users: which columns identify them, and their ids. */
export { readIdentifiers, type Identifiers } from './identifiers.ts'
export { ListColumns, checkRecognised } from './list-columns.ts'
export { readUserIds } from './read-user-ids.ts'
export { UserIdFields, userIdColumns } from './user-id-fields.ts'
