/** Audiences and their members in a database, whichever engine it is. */
export { AudienceRows } from './audience-rows.ts'
export { eraseMembers } from './erase-members.ts'
export { memberText, userText } from './member-identity.ts'
export { StoredAudiences } from './stored-audiences.ts'
