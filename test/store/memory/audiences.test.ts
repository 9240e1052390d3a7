import { MemoryStore } from '../../../src/store/memory/memory-store.ts'
import { audienceStoreSuite } from '../../conformance/audience-store.ts'

audienceStoreSuite('MemoryStore', () => Promise.resolve(new MemoryStore()))
