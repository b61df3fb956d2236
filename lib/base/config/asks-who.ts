// Whether policies let in only whom they know.

import type { GatewayPolicies } from './types.ts'

type Who = Pick<GatewayPolicies, 'jwtAuth' | 'basicAuth' | 'apiKey' | 'authorization'>

/** A credential that may be missing keeps nobody out, nor do rules that only say who may not. */
export function asksWho(policies: Who): boolean {
  const { authorization } = policies
  const lists = authorization?.rules.some(({ mode }) => mode !== 'deny') ?? false
  return lists || asksCredential(policies)
}

/** One that a web page does not have, whatever name it is reached by. */
export function asksCredential({
  jwtAuth,
  basicAuth,
  apiKey,
}: Omit<Who, 'authorization'>): boolean {
  return [jwtAuth, basicAuth, apiKey].some((one) => one?.mode === 'strict')
}
