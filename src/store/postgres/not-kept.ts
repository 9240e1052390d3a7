import { StoreUnusableError } from '../../delivery/index.ts'
import type { Store } from '../store.ts'

/** Answers for what this engine does not keep. */
function notKept(): Promise<never> {
  return Promise.reject(
    new StoreUnusableError({
      message:
        'Cannot use audiences and deletion requests here: they are not kept in PostgreSQL yet',
      hint: 'Use a store in a file for them: sqlite:<file>.',
    }),
  )
}

/** Stands for audiences. */
export const audiencesNotKept: Store['audiences'] = Object.freeze({
  begin: notKept,
  take: notKept,
  release: notKept,
  remove: notKept,
  list: notKept,
  members: notKept,
})

/** Stands for deletion requests. */
export const regulationsNotKept: Store['regulations'] = Object.freeze({
  create: notKept,
  erase: notKept,
  noteArchive: notKept,
  finish: notKept,
  find: notKept,
  list: notKept,
})
