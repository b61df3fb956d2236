// What users write under `config` and `frontendPolicies`.

import { isIP } from 'node:net'
import { z } from 'zod'
import { checkFilter } from '../log-filter.ts'
import type { AdminAddress } from '../types.ts'
import { kindOf } from '../wording.ts'
import { count, duration, hostAndPort, isHeaderName, refuse, wait } from './scalars.ts'

const ADMIN_EXPECTED = 'expected ip:port, localhost:port, unix:/path or off'

export const adminAddr = z
  .string({
    error: ({ input }) => `invalid config.adminAddr: got ${kindOf(input)}, ${ADMIN_EXPECTED}`,
  })
  .transform((text, context): AdminAddress => {
    if (text === 'off') return { kind: 'off' }
    if (text.startsWith('unix:/')) return { kind: 'unix', path: text.slice(5) }
    const parts = hostAndPort(text)
    if (parts?.host === 'localhost') return { kind: 'localhost', port: parts.port }
    const host = parts?.host.replace(/^\[(.+)\]$/, '$1') ?? ''
    // An IPv6 address without brackets could end in its port or not.
    if (parts !== undefined && isIP(host) === (host === parts.host ? 4 : 6))
      return { kind: 'tcp', host, port: parts.port }
    return refuse(context, `invalid config.adminAddr: got '${text}', ${ADMIN_EXPECTED}`)
  })

const level = z.string().transform((text, context) => {
  const wrong = checkFilter(text)
  return wrong === undefined ? text : refuse(context, wrong)
})

const sensitiveHeader = z
  .string()
  .transform((text, context) =>
    isHeaderName(text)
      ? text.toLowerCase()
      : refuse(context, `invalid sensitive header '${text}': expected a valid header name`),
  )

export const PROCESS = z.strictObject({
  adminAddr: adminAddr.optional(),
  logging: z
    .strictObject({
      level: z
        .union([level, z.array(level).min(1)], {
          error: 'expected a level filter or a list of them',
        })
        .optional(),
      format: z.enum(['text', 'json']).optional(),
    })
    .optional(),
  sensitiveHeaders: z.array(sensitiveHeader).optional(),
  connectionTerminationDeadline: duration.optional(),
  backend: z
    .strictObject({
      connectTimeout: wait.optional(),
      poolIdleTimeout: wait.optional(),
      poolMaxSize: count.optional(),
      poolMaxWaiting: z.int().min(0).max(0x7fff_ffff).optional(),
      bodyIdleTimeout: wait.optional(),
    })
    .optional(),
})

export const FRONTEND = z.strictObject({
  http: z
    .strictObject({
      maxHeadBytes: z.int().min(1024).max(65_536).optional(),
      http1MaxHeaders: z.int().min(1).max(2000).optional(),
      maxBodyBytes: z.int().min(0).optional(),
      headTimeout: wait.optional(),
      bodyIdleTimeout: wait.optional(),
      responseIdleTimeout: wait.optional(),
      http1IdleTimeout: wait.optional(),
      maxConnections: count.optional(),
      http2MaxStreams: count.optional(),
    })
    .optional(),
  tls: z.strictObject({ handshakeTimeout: wait.optional() }).optional(),
})

export type ProcessShape = z.output<typeof PROCESS>
export type FrontendShape = z.output<typeof FRONTEND>
