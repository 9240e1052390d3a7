export * from '../audience-syncs.ts'
