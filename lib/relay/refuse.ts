// The one place where an error becomes an answer.

import type { GatewayError } from '../base/errors.ts'
import { textReply } from '../base/reply.ts'
import type { Reply } from '../base/types.ts'

export function refuse(error: GatewayError): Reply {
  return textReply(error.status, error.message)
}
