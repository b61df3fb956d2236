// What a client is told of a body that could not be held.

import { GatewayError } from '../../../base/errors.ts'

export function tooLarge(size: number, most: number): GatewayError {
  return new GatewayError(
    'BODY_TOO_LARGE',
    `request body too large: of ${size} bytes or more, the first ${most} did not tell its model ` +
      '(config.llm.maxHeldBytes)',
    { limit: ['maxHeldBytes', most] },
  )
}

export function noRoom(most: number): GatewayError {
  return new GatewayError(
    'POOL_EXHAUSTED',
    `too much is held of other requests, at most ${most} bytes (config.llm.maxHeldTogether): try again later`,
    { limit: ['maxHeldTogether', most] },
  )
}
