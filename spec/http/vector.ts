// What a vector for request heads is, and the words to write one.

import type { ErrorCode } from '../../lib/core/errors.ts'

export interface Accepted {
  method?: string
  target?: string
  authority?: string
  version?: string
  /** Content-Length; -1 without one. */
  length?: number
  chunked?: boolean
  keepAlive?: boolean
  upgrade?: string
  /** The field lines that go to the backend. */
  fields?: string
}

export interface RequestVector {
  what: string
  bytes: string
  expect: Accepted | readonly [ErrorCode, status: number]
}

export const HOST = 'host: a\r\n'

export function head(line: string, fields: string): string {
  return `${line}\r\n${fields}\r\n`
}

/** A GET with these field lines after a valid Host. */
export function get(fields: string): string {
  return head('GET / HTTP/1.1', HOST + fields)
}

export function post(fields: string): string {
  return head('POST / HTTP/1.1', HOST + fields)
}

export function line(requestLine: string): string {
  return head(requestLine, HOST)
}

export const BAD_HEAD = ['BAD_HEAD', 400] as const
export const BAD_HOST = ['BAD_HOST', 400] as const
export const BAD_TARGET = ['BAD_TARGET', 400] as const
export const BAD_FRAMING = ['BAD_FRAMING', 400] as const
export const METHOD_UNKNOWN = ['METHOD_UNKNOWN', 501] as const
export const METHOD_NOT_ALLOWED = ['METHOD_NOT_ALLOWED', 405] as const
export const VERSION_UNKNOWN = ['VERSION_UNKNOWN', 505] as const

export function vector(
  what: string,
  bytes: string,
  expect: RequestVector['expect'],
): RequestVector {
  return { what, bytes, expect }
}
