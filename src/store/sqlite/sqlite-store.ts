import type {
  AddOutcome,
  DeliveryFilter,
  DeliveryStore,
  DeliveryStory,
  DueTime,
  LeasedDelivery,
  LoggedDelivery,
  NewEvent,
  PurgeRequest,
  PurgeResult,
  Room,
  Settlement,
  Share,
  StoreAudit,
} from '../../delivery/index.ts'
import type { DeliveryLedger, RequestRecord } from '../../model/index.ts'
import { Counts } from './counts.ts'
import { openDatabase, type Database } from './database.ts'
import { DeliveryLock } from './delivery-lock.ts'
import { Intake } from './intake.ts'
import { Leases } from './leases.ts'
import { LogReader } from './log-reader.ts'
import { LogWriter } from './log-writer.ts'
import { migrate, pragma } from './schema.ts'
import { Settling } from './settling.ts'
import { Statements } from './statements.ts'
import { closedError, storeError } from './store-error.ts'
import { Waiting } from './waiting.ts'
import { WriteQueue } from './write-queue.ts'
