/** Writes accepted events to files, reads them back, and erases users in them. */
export { Archive, type Append } from './archive.ts'
export { archiveIdIn, archiveIdOf, cannotWrite } from './archive-files.ts'
export { callOfArchivedRow } from './archived-row.ts'
export {
  isAboutUsers,
  type ArchiveErasureRequest,
  type ErasedFromArchive,
} from './erase-from-archive.ts'
export { readArchive, type ArchivePart } from './read-archive.ts'
