import { WebhookSender } from '../../src/webhook/index.ts'
import { describeSender } from './sender-suite.ts'

describeSender('a sender in this thread', (options) => new WebhookSender(options))
