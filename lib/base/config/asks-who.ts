// Whether policies let in only whom they know.

import type { GatewayPolicies } from './types.ts'

type Who = Pick<GatewayPolicies, 'jwtAuth' | 'basicAuth' | 'apiKey' | 'authorization'>

/** A credential that may be missing keeps nobody out. */
export function asksWho({ jwtAuth, basicAuth, apiKey, authorization }: Who): boolean {
  return (
    authorization !== null || [jwtAuth, basicAuth, apiKey].some((one) => one?.mode === 'strict')
  )
}
