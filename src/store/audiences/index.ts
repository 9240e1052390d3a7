/** Audiences and their members in a database, whichever engine it is. */
export { AudienceRows, memberText, userText } from './audience-rows.ts'
export { eraseMembers } from './erase-members.ts'
export { StoredAudiences } from './stored-audiences.ts'
