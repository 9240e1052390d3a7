/** Every accepted event in files, and back; and what of them is erased. */
export { Archive, type Append } from './archive.ts'
export { callOfArchivedRow } from './archived-row.ts'
export {
  eraseFromArchive,
  isAboutUsers,
  type ArchiveErasureRequest,
  type ArchiveWriter,
  type EraseFromArchiveOptions,
  type ErasedFromArchive,
} from './erase-from-archive.ts'
export type { FileChanges } from './erase-from-file.ts'
export { readArchive, type ArchivePart } from './read-archive.ts'
