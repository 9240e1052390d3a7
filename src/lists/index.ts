/** Lists of users: which columns identify them, and their ids. */
export { readIdentifiers } from './identifiers.ts'
export { ListColumns } from './list-columns.ts'
export { readUserIds } from './read-user-ids.ts'
export { UserIdFields } from './user-id-fields.ts'
