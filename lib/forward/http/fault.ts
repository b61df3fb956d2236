// What went wrong on the way to a backend, in words that help and that name no inner address.

import { isOutOfDescriptors, NO_DESCRIPTORS } from '../../base/bounds/descriptors.ts'
import { GatewayError } from '../../base/errors.ts'
import type { ErrorCode } from '../../base/errors.ts'

const WORDS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ENOTFOUND: 'name not found',
  EAI_AGAIN: 'name look-up failed',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'timed out',
  ENOENT: 'no such socket',
  EACCES: 'permission denied',
  EMFILE: NO_DESCRIPTORS,
  ENFILE: NO_DESCRIPTORS,
}

/** In our own words, the socket's error, or null where it just closed. */
export type What = string | Error | null

/** Of a connection that did not come about in time. */
export const LATE = 'connect timed out'

export function backendFault(code: ErrorCode, what: What): GatewayError {
  const cause = what instanceof Error ? what : undefined
  const isOurs = cause !== undefined && isOutOfDescriptors(cause)
  const whose = isOurs ? 'OUT_OF_DESCRIPTORS' : code
  return new GatewayError(whose, `upstream call failed: ${reasonOf(what)}`, cause && { cause })
}

/** No answer in time; reference.md 2.10 gives it a text of its own. */
export function backendTimeout(): GatewayError {
  return new GatewayError('BACKEND_TIMEOUT', 'upstream call timeout')
}

export function reasonOf(what: What): string {
  if (typeof what === 'string') return what
  if (what === null) return 'connection closed'
  const code = (what as NodeJS.ErrnoException).code ?? ''
  return WORDS[code] ?? (code === '' ? 'connection failed' : code)
}
