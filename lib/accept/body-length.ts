// The check of a request body against `maxBodyBytes`; a declared length is refused before the first body byte is read.

import type { WireLimits } from '../core/bounds.ts'
import { GatewayError } from '../core/errors.ts'

export function checkBodyLength(length: number, { maxBodyBytes }: WireLimits): GatewayError | null {
  if (length <= maxBodyBytes) return null
  return new GatewayError(
    'BODY_TOO_LARGE',
    `request body too large: ${length} bytes, at most ${maxBodyBytes} (frontendPolicies.http.maxBodyBytes)`,
    { limit: ['maxBodyBytes', maxBodyBytes] },
  )
}
