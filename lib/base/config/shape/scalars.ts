// The single values users write, each with its own check and its own words of refusal.

import { isIP } from 'node:net'
import { z } from 'zod'
import { DURATION, MAX_DURATION, parseDuration } from '../duration.ts'
import { Regex, RegexError } from '../../regex.ts'
import type { Endpoint, ValueMatch } from '../types.ts'
import { kindOf } from '../wording.ts'

type Refuse = { addIssue(issue: { code: 'custom'; message: string }): void }

/** For transforms: refuses the value in hand. */
export function refuse(context: Refuse, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

const DURATION_EXPECTED = 'expected a duration such as 500ms, 10s, 1m or 1h30m'

/** Milliseconds; may be nothing. */
export const duration = z
  .string({ error: ({ input }) => `got ${kindOf(input)}, ${DURATION_EXPECTED}` })
  .regex(DURATION, { error: ({ input }) => `got '${String(input)}', ${DURATION_EXPECTED}` })
  .transform((text, context) => {
    const value = parseDuration(text) ?? 0
    return value > MAX_DURATION
      ? refuse(context, `got '${text}', expected a duration of at most 24 days`)
      : value
  })

/** Milliseconds, for waits that make no sense when they are over at once. */
export const wait = duration.refine((value) => value > 0, 'got nothing, expected more than 0ms')

/** 0 lets the system choose. */
export const listenPort = z.int().min(0).max(65_535)

export const portNumber = z.int().min(1).max(65_535)

export const address = z.string().refine((text) => isIP(text) !== 0, {
  error: ({ input }) => `got '${String(input)}', expected an IP address`,
})

/** Names are joined by slashes into keys. */
export const partOfKey = z
  .string()
  .regex(/^[^/\s]+$/, 'got a name with a slash or a space, or an empty one, expected a plain name')

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

export function isHeaderName(text: string): boolean {
  return TOKEN.test(text)
}

/** In lower case. */
export const headerName = z
  .string()
  .regex(TOKEN, { error: ({ input }) => `got '${String(input)}', expected a valid header name` })
  .toLowerCase()

/** Not printed when refused: it may be a secret. */
export const headerValue = z
  .string()
  .regex(
    /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/,
    'got characters that no header may hold, expected latin1 text on one line without space around it',
  )

export const method = z.string().regex(/^[A-Z][A-Z-]*$/, {
  error: ({ input }) => `got '${String(input)}', expected a method such as GET`,
})

const LABELS = '[A-Za-z0-9_](?:[A-Za-z0-9_-]*)(?:\\.[A-Za-z0-9_][A-Za-z0-9_-]*)*'
const HOSTNAME = new RegExp(`^(?:\\*\\.)?${LABELS}$`)

/** Exact or `*.suffix`, in lower case. */
export const hostname = z
  .string()
  .regex(HOSTNAME, {
    error: ({ input }) =>
      `got '${String(input)}', expected a hostname such as a.example.com or *.example.com`,
  })
  .toLowerCase()

const HOST = new RegExp(`^(?:${LABELS}|\\[[0-9A-Fa-f:.]+\\])$`)
const AUTHORITY = new RegExp(`^(?:${LABELS}|\\[[0-9A-Fa-f:.]+\\])(?::\\d{1,5})?$`)

export const hostText = z
  .string()
  .regex(HOST, { error: ({ input }) => `got '${String(input)}', expected a host without port` })

export const authorityText = z
  .string()
  .regex(AUTHORITY, { error: ({ input }) => `got '${String(input)}', expected host or host:port` })

const PATH_EXPECTED = 'expected a path that starts with / and has no ? or #'

/** A path as it may stand in a request line. */
export const targetPath = z.string().regex(/^\/[!-"$->@-~]*$/, {
  error: ({ input }) => `got '${String(input)}', ${PATH_EXPECTED}`,
})

/** '' takes the prefix away. */
export const replacement = z.string().regex(/^(?:\/[!-"$->@-~]*)?$/, {
  error: ({ input }) => `got '${String(input)}', ${PATH_EXPECTED}`,
})

const ENDPOINT_EXPECTED = 'expected host:port, [ipv6]:port or unix:/path'

export const endpoint = z.string().transform((text, context): Endpoint => {
  const found = parseEndpoint(text)
  if (found !== undefined) return found
  const hint = /^https?:/.test(text) ? ' (no scheme; use policies.backendTLS for https)' : ''
  return refuse(context, `got '${text}', ${ENDPOINT_EXPECTED}${hint}`)
})

function parseEndpoint(text: string): Endpoint | undefined {
  if (text.startsWith('unix:/')) return { kind: 'unix', path: text.slice(5) }
  const parts = hostAndPort(text)
  if (parts === undefined || !HOST.test(parts.host)) return undefined
  const bare = parts.host.startsWith('[') ? parts.host.slice(1, -1) : parts.host
  if (bare !== parts.host && isIP(bare) !== 6) return undefined
  return { kind: 'tcp', host: bare, port: parts.port }
}

/** Splits at the last colon; the port is within 1 to 65535. */
export function hostAndPort(text: string): { host: string; port: number } | undefined {
  const parts = /^(.+):(\d{1,5})$/.exec(text)
  const port = Number(parts?.[2])
  return parts !== null && port >= 1 && port <= 65_535 ? { host: parts[1]!, port } : undefined
}

/** Matches the whole value or not at all. */
export const pattern = z.string().transform((text, context): ValueMatch & { kind: 'regex' } => {
  try {
    return { kind: 'regex', value: text, regex: new Regex(text, 'whole') }
  } catch (error) {
    if (!(error instanceof RegexError)) throw error
    return refuse(context, `got an invalid regex: ${error.message}, expected RE2 syntax`)
  }
})
