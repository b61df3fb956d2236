// Shapes of the sections `config` and `frontendPolicies`.

import { isIP } from 'node:net'
import { z } from 'zod'
import {
  BACKEND_LIMITS,
  LLM_LIMITS,
  MAX_BYTES_IN_FLIGHT,
  MAX_LIMIT_KEYS,
  MAX_PAGE_STREAMS,
  MAX_TRACE_WATCHERS,
  MAX_WORKERS,
  MCP_LIMITS,
  TERMINATION_DEADLINE_MS,
  MAX_TRACED_BODY_BYTES,
  WIRE_LIMITS,
  DEFAULT_WORKERS,
} from '../../core/bounds.ts'
import { formatDuration } from '../duration.ts'
import { checkLogFilter } from '../../core/log-filter.ts'
import type { AdminAddress } from '../config-types.ts'
import { describeKind } from '../problem-texts.ts'
import {
  duration,
  isHeaderName,
  oneFormOf,
  positiveDuration,
  refuseValue,
  splitHostAndPort,
  unsupportedFields,
} from './value-shapes.ts'

const ADDRESS_EXPECTED = 'expected ip:port, localhost:port, unix:/path or off'

function adminAddressShape(field: string) {
  return z
    .string({
      error: ({ input }) =>
        `invalid config.${field}: got ${describeKind(input)}, ${ADDRESS_EXPECTED}`,
    })
    .transform((text, context): AdminAddress => {
      if (text === 'off') return { kind: 'off' }
      if (text.startsWith('unix:/')) return { kind: 'unix', path: text.slice(5) }
      const parts = splitHostAndPort(text)
      if (parts?.host === 'localhost') return { kind: 'localhost', port: parts.port }
      const host = parts?.host.replace(/^\[(.+)\]$/, '$1') ?? ''
      // An IPv6 address needs brackets, because its last group would look like a port.
      if (parts !== undefined && isIP(host) === (host === parts.host ? 4 : 6))
        return { kind: 'tcp', host, port: parts.port }
      return refuseValue(context, `invalid config.${field}: got '${text}', ${ADDRESS_EXPECTED}`)
    })
}

/** Addresses that environment variables of these names override. */
export const ADDRESSES = {
  ADMIN_ADDR: adminAddressShape('adminAddr'),
  STATS_ADDR: adminAddressShape('statsAddr'),
  READINESS_ADDR: adminAddressShape('readinessAddr'),
} as const

const level = z.string().transform((text, context) => {
  const problem = checkLogFilter(text)
  return problem === undefined ? text : refuseValue(context, problem)
})

const sensitiveHeader = z
  .string()
  .transform((text, context) =>
    isHeaderName(text)
      ? text.toLowerCase()
      : refuseValue(context, `invalid sensitive header '${text}': expected a valid header name`),
  )

/** An optional duration with its default. */
function durationField(preset: number, description: string, shape = positiveDuration) {
  return shape.meta({ description, preset: formatDuration(preset) }).optional()
}

function amountField(preset: number, description: string, [min, max]: readonly [number, number]) {
  return z.int().min(min).max(max).meta({ description, preset }).optional()
}

// Allowed ranges: counts, bytes of one message, bytes of a kept request, event streams, keys (about the maximum of a Map), bytes of all requests.
const COUNT = [1, 0x7fff_ffff] as const
const BYTES = [1024, 0x0800_0000] as const
const KEPT_BYTES = [0, 0x0800_0000] as const
const STREAMS = [1, 10_000] as const
const KEYS = [1, 16_000_000] as const
const TOTAL_BYTES = [1024, 0x2_0000_0000] as const
const BACKEND = BACKEND_LIMITS
const MCP = MCP_LIMITS
const LLM = LLM_LIMITS
const WIRE = WIRE_LIMITS

export const PROCESS = z
  .strictObject({
    workers: amountField(
      DEFAULT_WORKERS,
      'Number of processes that share the ports, usually one for each core.',
      [1, MAX_WORKERS],
    ),
    adminAddr: ADDRESSES.ADMIN_ADDR.meta({
      description:
        'Address of the admin interface: `ip:port`, `localhost:port`, `unix:/path` or `off`.',
      preset: 'localhost:15000',
    }).optional(),
    statsAddr: ADDRESSES.STATS_ADDR.meta({
      description: 'Address of the Prometheus metrics, in the same forms.',
      preset: 'localhost:15020',
    }).optional(),
    readinessAddr: ADDRESSES.READINESS_ADDR.meta({
      description: 'Address of the readiness probe, in the same forms.',
      preset: 'localhost:15021',
    }).optional(),
    logging: z
      .strictObject({
        level: oneFormOf(
          [level, z.array(level).min(1)],
          'expected a level filter or a list of them',
        )
          .optional()
          .meta({
            description:
              'Log level, levels by module such as `info,accept=debug`, or a list of them.',
            preset: 'info',
          }),
        format: z
          .enum(['text', 'json'])
          .meta({ description: 'Format of log lines.', preset: 'text' })
          .optional(),
        ...unsupportedFields('filter', 'fields', 'database'),
      })
      .optional(),
    sensitiveHeaders: z
      .array(sensitiveHeader)
      .optional()
      .describe(
        'Headers that are shown as `<redacted>`, in addition to `authorization` and `proxy-authorization`.',
      ),
    connectionTerminationDeadline: durationField(
      TERMINATION_DEADLINE_MS,
      'Time for running requests to finish at shutdown.',
      duration,
    ),
    maxBytesInFlight: amountField(
      MAX_BYTES_IN_FLIGHT,
      'Maximum bytes held for all requests together; above it new requests get 503.',
      TOTAL_BYTES,
    ),
    rateLimit: z
      .strictObject({
        maxKeys: amountField(
          MAX_LIMIT_KEYS,
          'Maximum buckets of one keyed limit; a new one replaces the least recently used.',
          KEYS,
        ),
      })
      .optional(),
    trace: z
      .strictObject({
        maxBodyBytes: amountField(
          MAX_TRACED_BODY_BYTES,
          'Maximum bytes of each body in a trace.',
          BYTES,
        ),
        maxWatchers: amountField(
          MAX_TRACE_WATCHERS,
          'Maximum number of concurrent trace watchers.',
          COUNT,
        ),
        redactBodies: z
          .array(z.string().regex(/^[^"]{1,128}$/, 'expected a name of 1 to 128 characters'))
          .optional()
          .describe(
            'Names of JSON members and form fields whose values are `<redacted>` in bodies of a trace. Without it a trace has exact bodies.',
          ),
      })
      .optional(),
    ui: z
      .strictObject({
        maxReaders: amountField(
          MAX_PAGE_STREAMS,
          'Maximum number of concurrent event streams of the web UI; half as many on listeners.',
          STREAMS,
        ),
      })
      .optional(),
    mcp: z
      .strictObject({
        sessionTtl: durationField(MCP.sessionTtl, 'Idle time after which a session ends.'),
        goneTtl: durationField(
          MCP.goneTtl,
          'Idle time after which a session ends whose client closed its GET stream.',
        ),
        maxSessions: amountField(
          MCP.maxSessions,
          'Maximum number of open sessions on all routes.',
          COUNT,
        ),
        maxSessionsPerClient: amountField(
          MCP.maxSessionsPerClient,
          'Maximum number of open sessions of one client: a principal or, without authentication, an address.',
          COUNT,
        ),
        maxChildren: amountField(
          MCP.maxChildren,
          'Maximum number of child processes on all routes. When it is reached, the session that is idle longest ends.',
          COUNT,
        ),
        maxChildrenPerClient: amountField(
          MCP.maxChildrenPerClient,
          'Maximum number of child processes of one client: a principal or, without authentication, an address. The default is at most half of `maxChildren`.',
          COUNT,
        ),
        startTimeout: durationField(MCP.startTimeout, 'Time for a target to answer `initialize`.'),
        listTimeout: durationField(
          MCP.listTimeout,
          'Time for one of several targets to answer before the combined response is sent without it.',
        ),
        maxRequestBytes: amountField(
          MCP.maxRequestBytes,
          'Maximum bytes of a message from a client; a larger one gets 413.',
          BYTES,
        ),
        maxReadTogether: amountField(
          MCP.maxReadTogether,
          'Maximum bytes of all incomplete messages from clients; above it new ones get 503.',
          TOTAL_BYTES,
        ),
        maxMessageBytes: amountField(
          MCP.maxMessageBytes,
          'Maximum bytes of a message from a target.',
          BYTES,
        ),
        keepAlive: durationField(
          MCP.keepAlive,
          'Idle time of an event stream before a keep-alive comment; `0s` sends none.',
          duration,
        ),
      })
      .optional(),
    llm: z
      .strictObject({
        maxHeldBytes: amountField(
          LLM.maxHeldBytes,
          'Maximum bytes of a request that are held until its model is known; a larger one gets 413.',
          BYTES,
        ),
        maxHeldTogether: amountField(
          LLM.maxHeldTogether,
          'Maximum bytes of all held LLM requests; above it new ones get 503 or are not retried.',
          TOTAL_BYTES,
        ),
        maxKeptBytes: amountField(
          LLM.maxKeptBytes,
          'Maximum bytes of a request that is kept for another provider; a larger one gets one attempt. `0` keeps none.',
          KEPT_BYTES,
        ),
        firstByteTimeout: durationField(
          LLM.firstByteTimeout,
          'Time to the response head of a provider before the next provider is called; `0s` waits for any time.',
          duration,
        ),
      })
      .optional(),
    backend: z
      .strictObject({
        connectTimeout: durationField(
          BACKEND.connectTimeout,
          'Time for DNS lookup, TCP connect and TLS handshake together.',
        ),
        poolIdleTimeout: durationField(
          BACKEND.poolIdleTimeout,
          'Time that an idle connection is kept.',
        ),
        poolMaxAge: durationField(
          BACKEND.poolMaxAge,
          'Maximum age of a connection; a changed DNS record takes effect within this time.',
        ),
        poolMaxSize: amountField(
          BACKEND.poolMaxSize,
          'Maximum number of connections to one backend.',
          COUNT,
        ),
        poolMaxWaiting: amountField(
          BACKEND.poolMaxWaiting,
          'Maximum number of requests that wait for a connection.',
          [0, COUNT[1]],
        ),
        bodyIdleTimeout: durationField(
          BACKEND.bodyIdleTimeout,
          'Maximum idle time within a response body.',
        ),
        responseHeadTimeout: durationField(
          BACKEND.responseHeadTimeout,
          'Time from the end of a request to the head of its response, for `host` backends without other timeouts; `0s` is no limit.',
          duration,
        ),
        ...unsupportedFields('keepalives'),
      })
      .optional(),
    ...unsupportedFields(
      'connectionMinTerminationDeadline',
      'customFunctions',
      'database',
      'dns',
      'enableIpv6',
      'histograms',
      'metrics',
      'modelCatalog',
      'session',
      'standardAttributes',
      'storage',
      'tracing',
      'workerThreads',
    ),
  })
  .describe('Settings of the process, which are read at start only.')

export const FRONTEND = z
  .strictObject({
    http: z
      .strictObject({
        normalizePath: z
          .enum(['off', 'merge', 'strict'])
          .meta({
            description:
              'Form in which paths are matched and forwarded: `off` as received, `merge` with slashes merged, dot segments resolved and unreserved escapes decoded, `strict` also refuses ambiguous paths.',
            preset: WIRE.normalizePath,
          })
          .optional(),
        maxHeadBytes: amountField(
          WIRE.maxHeadBytes,
          'Maximum bytes of request line and headers.',
          [1024, 65_536],
        ),
        http1MaxHeaders: amountField(
          WIRE.maxHeaders,
          'Maximum number of headers of a request.',
          [1, 2000],
        ),
        maxBodyBytes: z
          .int()
          .min(0)
          .optional()
          .describe(
            'Maximum bytes of a request body; a larger one gets 413; the default is no limit.',
          ),
        headTimeout: durationField(
          WIRE.headTimeout,
          'Time for a client to send the head of a request.',
        ),
        bodyIdleTimeout: durationField(
          WIRE.bodyIdleTimeout,
          'Maximum idle time within a request body.',
        ),
        responseIdleTimeout: durationField(
          WIRE.responseIdleTimeout,
          'Maximum time that a client reads nothing of its response.',
        ),
        http1IdleTimeout: durationField(
          WIRE.keepAliveTimeout,
          'Time that an idle connection is kept.',
        ),
        maxConnections: amountField(
          WIRE.maxConnections,
          'Maximum number of open connections per port.',
          COUNT,
        ),
        maxConnectionsPerAddress: amountField(
          WIRE.maxConnectionsPerAddress,
          'Maximum number of open connections of one client address (IPv6: one /64) on all ports.',
          COUNT,
        ),
        http2MaxStreams: amountField(
          WIRE.maxStreams,
          'Maximum number of concurrent streams on an HTTP/2 connection.',
          COUNT,
        ),
        headersWithUnderscores: z.enum(['drop', 'allow']).optional().meta({
          description:
            'Whether headers such as `x_user` are dropped if a policy sets or removes `x-user`, or reads a credential from it.',
          preset: WIRE.headersWithUnderscores,
        }),
        ...unsupportedFields(
          'http1HeaderCase',
          'http2ConnectionWindowSize',
          'http2FrameSize',
          'http2KeepaliveInterval',
          'http2KeepaliveTimeout',
          'http2MaxHeaderSize',
          'http2WindowSize',
          'maxBufferSize',
          'maxConnectionDuration',
        ),
      })
      .optional(),
    tls: z
      .strictObject({
        handshakeTimeout: durationField(WIRE.handshakeTimeout, 'Time for the TLS handshake.'),
        ...unsupportedFields(
          'alpn',
          'cipherSuites',
          'keyExchangeGroups',
          'maxVersion',
          'minVersion',
        ),
      })
      .optional(),
    ...unsupportedFields(
      'accessLog',
      'connect',
      'logging',
      'networkAuthorization',
      'networkExtAuthz',
      'proxy',
      'proxyProtocol',
      'tcp',
      'tracing',
    ),
  })
  .describe('Limits and timeouts for clients on all ports.')

export type ProcessShape = z.output<typeof PROCESS>
export type FrontendShape = z.output<typeof FRONTEND>
