/** Which columns of a list say whom it is about, and who that is. */
export { readIdentifiers, type Identifiers } from './identifiers.ts'
export { ListColumns, checkRecognised } from './list-columns.ts'
export { readUserIds } from './read-user-ids.ts'
export { UserIdFields, userIdColumns } from './user-id-fields.ts'
