import { MemoryStore } from '../../../src/store/memory/memory-store.ts'
import { regulationStoreSuite } from '../../conformance/regulation-store.ts'

regulationStoreSuite('MemoryStore', () => Promise.resolve(new MemoryStore()))
