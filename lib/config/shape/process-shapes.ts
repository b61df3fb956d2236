// What users write under `config` and `frontendPolicies`.

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
      // An IPv6 address without brackets could end in its port or not.
      if (parts !== undefined && isIP(host) === (host === parts.host ? 4 : 6))
        return { kind: 'tcp', host, port: parts.port }
      return refuseValue(context, `invalid config.${field}: got '${text}', ${ADDRESS_EXPECTED}`)
    })
}

/** Each as the environment may say it, too. */
export const ADDRESSES = {
  ADMIN_ADDR: adminAddressShape('adminAddr'),
  STATS_ADDR: adminAddressShape('statsAddr'),
  READINESS_ADDR: adminAddressShape('readinessAddr'),
} as const

const level = z.string().transform((text, context) => {
  const wrong = checkLogFilter(text)
  return wrong === undefined ? text : refuseValue(context, wrong)
})

const sensitiveHeader = z
  .string()
  .transform((text, context) =>
    isHeaderName(text)
      ? text.toLowerCase()
      : refuseValue(context, `invalid sensitive header '${text}': expected a valid header name`),
  )

/** Milliseconds with the default of the limit it sets. */
function durationField(preset: number, description: string, shape = positiveDuration) {
  return shape.meta({ description, preset: formatDuration(preset) }).optional()
}

function amountField(
  preset: number,
  description: string,
  [least, most]: readonly [number, number],
) {
  return z.int().min(least).max(most).meta({ description, preset }).optional()
}

const COUNT = [1, 0x7fff_ffff] as const
/** Of one JSON-RPC message. */
const BYTES = [1024, 0x0800_0000] as const
const READERS = [1, 10_000] as const
/** What a Map can hold, and some. */
const KEYS = [1, 16_000_000] as const
const TOGETHER = [1024, 0x2_0000_0000] as const
const BACKEND = BACKEND_LIMITS
const MCP = MCP_LIMITS
const LLM = LLM_LIMITS
const WIRE = WIRE_LIMITS

export const PROCESS = z
  .strictObject({
    workers: amountField(DEFAULT_WORKERS, 'Processes that share the ports; one for each core', [
      1,
      MAX_WORKERS,
    ]),
    adminAddr: ADDRESSES.ADMIN_ADDR.meta({
      description: 'Admin interface: `ip:port`, `localhost:port`, `unix:/path` or `off`',
      preset: 'localhost:15000',
    }).optional(),
    statsAddr: ADDRESSES.STATS_ADDR.meta({
      description: 'Statistics for Prometheus, in the same forms',
      preset: 'localhost:15020',
    }).optional(),
    readinessAddr: ADDRESSES.READINESS_ADDR.meta({
      description: 'Readiness probe, in the same forms',
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
            description: 'A level, or levels by module: `info,accept=debug`; or a list of them',
            preset: 'info',
          }),
        format: z
          .enum(['text', 'json'])
          .meta({ description: 'How lines are written', preset: 'text' })
          .optional(),
        ...unsupportedFields('filter', 'fields', 'database'),
      })
      .optional(),
    sensitiveHeaders: z
      .array(sensitiveHeader)
      .optional()
      .describe('Shown as `<redacted>` beside `authorization` and `proxy-authorization`'),
    connectionTerminationDeadline: durationField(
      TERMINATION_DEADLINE_MS,
      'How long running requests may finish at shutdown',
      duration,
    ),
    maxBytesInFlight: amountField(
      MAX_BYTES_IN_FLIGHT,
      'Bytes held for all requests together; above it new ones get 503',
      TOGETHER,
    ),
    rateLimit: z
      .strictObject({
        maxKeys: amountField(
          MAX_LIMIT_KEYS,
          'Values of one `key` with a bucket of their own; one more takes the place of that used longest ago',
          KEYS,
        ),
      })
      .optional(),
    trace: z
      .strictObject({
        maxBodyBytes: amountField(MAX_TRACED_BODY_BYTES, 'Of each body that a trace shows', BYTES),
        maxWatchers: amountField(
          MAX_TRACE_WATCHERS,
          'Who waits to see a request, at a time',
          COUNT,
        ),
      })
      .optional(),
    ui: z
      .strictObject({
        maxReaders: amountField(
          MAX_PAGE_STREAMS,
          'Event streams of the web page at a time; on listeners half as many',
          READERS,
        ),
      })
      .optional(),
    mcp: z
      .strictObject({
        sessionTtl: durationField(MCP.sessionTtl, 'Idle time that ends a session'),
        goneTtl: durationField(MCP.goneTtl, 'The same, after the client closed its GET stream'),
        maxSessions: amountField(MCP.maxSessions, 'Open sessions, over all routes', COUNT),
        maxSessionsPerClient: amountField(
          MCP.maxSessionsPerClient,
          'Of these, for one principal or, where nobody is authenticated, one address',
          COUNT,
        ),
        maxChildren: amountField(MCP.maxChildren, 'Child processes alive, over all routes', COUNT),
        maxChildrenPerClient: amountField(
          MCP.maxChildrenPerClient,
          'Of these, for one client in the same sense',
          COUNT,
        ),
        startTimeout: durationField(MCP.startTimeout, 'Until a target has answered `initialize`'),
        listTimeout: durationField(
          MCP.listTimeout,
          'How long one of several targets may hold up what all answer together',
        ),
        maxRequestBytes: amountField(MCP.maxRequestBytes, "A client's message, else 413", BYTES),
        maxReadTogether: amountField(
          MCP.maxReadTogether,
          "All clients' messages that are not whole yet, else 503",
          TOGETHER,
        ),
        maxMessageBytes: amountField(MCP.maxMessageBytes, "A target's message", BYTES),
        keepAlive: durationField(
          MCP.keepAlive,
          'Silence on an event stream before a comment; `0s` for none',
          duration,
        ),
      })
      .optional(),
    llm: z
      .strictObject({
        maxHeldBytes: amountField(
          LLM.maxHeldBytes,
          'A request while its model is not known, else 413',
          BYTES,
        ),
        maxHeldTogether: amountField(
          LLM.maxHeldTogether,
          'All requests that are kept in part',
          TOGETHER,
        ),
      })
      .optional(),
    backend: z
      .strictObject({
        connectTimeout: durationField(BACKEND.connectTimeout, 'Name look-up, TCP and TLS together'),
        poolIdleTimeout: durationField(
          BACKEND.poolIdleTimeout,
          'How long an idle connection is kept',
        ),
        poolMaxAge: durationField(
          BACKEND.poolMaxAge,
          'How long a connection is used; a name that leads elsewhere is followed as fast',
        ),
        poolMaxSize: amountField(BACKEND.poolMaxSize, 'Connections to one backend', COUNT),
        poolMaxWaiting: amountField(BACKEND.poolMaxWaiting, 'Requests that may wait for one', [
          0,
          COUNT[1],
        ]),
        bodyIdleTimeout: durationField(
          BACKEND.bodyIdleTimeout,
          'Silence in the middle of an answer',
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
  .describe('The process; read at start only')

export const FRONTEND = z
  .strictObject({
    http: z
      .strictObject({
        maxHeadBytes: amountField(WIRE.maxHeadBytes, 'Request line and headers', [1024, 65_536]),
        http1MaxHeaders: amountField(WIRE.maxHeaders, 'Headers of one request', [1, 2000]),
        maxBodyBytes: z
          .int()
          .min(0)
          .optional()
          .describe('Body of one request, else 413; default no bound'),
        headTimeout: durationField(WIRE.headTimeout, 'Until the head is complete'),
        bodyIdleTimeout: durationField(WIRE.bodyIdleTimeout, 'Between two reads of a request body'),
        responseIdleTimeout: durationField(
          WIRE.responseIdleTimeout,
          'A client that takes nothing of its answer',
        ),
        http1IdleTimeout: durationField(WIRE.keepAliveTimeout, 'An idle connection'),
        maxConnections: amountField(WIRE.maxConnections, 'Open connections per port', COUNT),
        maxConnectionsPerAddress: amountField(
          WIRE.maxConnectionsPerAddress,
          'Open connections of one client address (IPv6: one /64), over all ports',
          COUNT,
        ),
        http2MaxStreams: amountField(WIRE.maxStreams, 'Streams on one HTTP/2 connection', COUNT),
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
        handshakeTimeout: durationField(WIRE.handshakeTimeout, 'Until the TLS handshake is over'),
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
  .describe('What clients may do, on every port')

export type ProcessShape = z.output<typeof PROCESS>
export type FrontendShape = z.output<typeof FRONTEND>
