// What went wrong on the way to a backend, in words that help and that name no inner address.

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
  EMFILE: 'out of file descriptors',
}

export function backendFault(code: ErrorCode, what: string | Error | null): GatewayError {
  const cause = what instanceof Error ? what : undefined
  const words = typeof what === 'string' ? what : wordsOf(what)
  return new GatewayError(code, `upstream call failed: ${words}`, cause && { cause })
}

/** No answer in time; reference.md 2.10 gives it a text of its own. */
export function backendTimeout(): GatewayError {
  return new GatewayError('BACKEND_TIMEOUT', 'upstream call timeout')
}

function wordsOf(error: Error | null): string {
  if (error === null) return 'connection closed'
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return WORDS[code] ?? (code === '' ? 'connection failed' : code)
}
