/** Every accepted event in files, and back. */
export { Archive, type Append } from './archive.ts'
export { callOfArchivedRow } from './archived-row.ts'
export { readArchive, type ArchivePart } from './read-archive.ts'
