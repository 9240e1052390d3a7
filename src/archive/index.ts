/** Every accepted event in files, and back. */
export { Archive } from './archive.ts'
export { callOfArchivedRow } from './archived-row.ts'
export { readArchive } from './read-archive.ts'
