// The web UI: the page, its assets and the read API. It never changes anything; endpoints that do are on the admin
// interface only.

import type { ServerResponse } from 'node:http'
import { MAX_PAGE_STREAMS, MAX_TRACE_WATCHERS } from '../../core/bounds.ts'
import type { RefusalCounter } from '../../core/refusal-counter.ts'
import {
  FAVICON_PATH,
  SIGNED_IN_PATH,
  UI_API_NAMES,
  UI_PATH,
  uiApiPath,
} from '../../core/well-known-paths.ts'
import type { UiApiName } from '../../core/well-known-paths.ts'
import {
  DEFAULT_KEEP_ALIVE_TIMING,
  EVENT_STREAM_HEADERS,
  streamEvents,
} from '../../text/sse-output.ts'
import type { EventWriter } from '../../text/sse-output.ts'
import type { FallbackHandler } from '../endpoint-types.ts'
import type {
  ConfigView,
  LimitsView,
  LogsView,
  MapView,
  McpView,
  RuntimeView,
  UiInterface,
} from './page-api-types.ts'
import { Assets } from './page-assets.ts'
import {
  createAssetResponse,
  createErrorResponse,
  createJsonResponse,
  createPageResponse,
  preventCaching,
} from './page-request.ts'
import type { UiHeaders, UiRequest, UiResponse } from './page-request.ts'

export interface StreamLimits {
  /** Concurrent event streams, on the admin interface and on listeners together. */
  readonly maxReaders: number
  readonly maxWatchers: number
}

const DEFAULT_LIMITS: StreamLimits = {
  maxReaders: MAX_PAGE_STREAMS,
  maxWatchers: MAX_TRACE_WATCHERS,
}

/** Listeners get at most half, so that operators can always open streams and traces on the admin interface. */
export function maxListenerStreams({ maxReaders, maxWatchers } = DEFAULT_LIMITS): number {
  return Math.ceil(Math.min(maxReaders, maxWatchers) / 2)
}

/** The map is the largest response: it is reused for this many milliseconds within one configuration. */
const MAP_CACHE_MS = 1000

const METHODS: readonly string[] = ['GET', 'HEAD']

const API_NAME_BY_PATH: ReadonlyMap<string, UiApiName> = new Map(
  UI_API_NAMES.map((name) => [uiApiPath(name), name]),
)

/** Builds a view for each request, so it must be cheap and bounded. `via` is the interface of the request. */
type BuildView<T> = (request: UiRequest, via: UiInterface) => T

/** Builds a response that is not simply JSON. */
type BuildResponse = (request: UiRequest, via: UiInterface) => UiResponse

/** The data of the read API: one function for each API name. */
export interface UiSources {
  readonly runtime: BuildView<RuntimeView>
  readonly map: BuildView<MapView>
  readonly limits: BuildView<LimitsView>
  readonly logs: BuildView<LogsView>
  readonly mcp: BuildView<McpView>
  readonly config: BuildView<ConfigView>
  readonly trace: BuildResponse
  readonly live: BuildResponse
  /** The generation of the configuration in force. */
  readonly generation: () => number
}

interface CachedMap {
  readonly generation: number
  readonly at: number
  readonly answer: UiResponse
}

export class UiService {
  readonly #sources: UiSources
  readonly #assets = new Assets()
  readonly #streams = new Map<EventWriter, UiInterface>()
  readonly #limits: StreamLimits
  readonly #refusals: RefusalCounter | null
  #map: CachedMap | null = null

  constructor(sources: UiSources, limits = DEFAULT_LIMITS, refusals: RefusalCounter | null = null) {
    this.#sources = sources
    this.#limits = limits
    this.#refusals = refusals
  }

  /** Null for a path outside of the web UI. */
  answer(request: UiRequest, via: UiInterface): UiResponse | null {
    const { path, method } = request
    const isUiPath = isBelow(path, UI_PATH) || isBelow(path, '/api') || path === FAVICON_PATH
    if (!isUiPath) return null
    const handler = this.#handlerFor(path, via)
    if (handler === null) return createErrorResponse(404, 'not found')
    if (!METHODS.includes(method))
      return createErrorResponse(405, `got ${method}, expected ${METHODS.join(' or ')}`, [
        ['allow', METHODS.join(', ')],
      ])
    return handler(request)
  }

  /**
   * Ends the streams on listeners when one stops or the access rules change; browsers reconnect. A full stream is destroyed,
   * because its end would wait for the client.
   */
  endListenerStreams(): void {
    for (const [stream, via] of this.#streams) {
      if (via !== 'listener') continue
      if (stream.isFull) stream.destroy()
      else stream.end()
    }
  }

  #handlerFor(path: string, via: UiInterface): ((request: UiRequest) => UiResponse) | null {
    if (path === UI_PATH || path === `${UI_PATH}/`)
      return (request) => createPageResponse(this.#assets.page, request)
    if (path === SIGNED_IN_PATH && via === 'admin')
      return (request) =>
        preventCaching(
          createPageResponse(this.#assets.page, { ...request, ifNoneMatch: undefined }),
        )
    const name = API_NAME_BY_PATH.get(path)
    if (name !== undefined) return (request) => this.#answerApi(name, request, via)
    const asset = this.#assets.find(path)
    return asset === undefined ? null : (request) => createAssetResponse(asset, request)
  }

  #answerApi(name: UiApiName, request: UiRequest, via: UiInterface): UiResponse {
    const sources = this.#sources
    if (name === 'map') return this.#answerMap(request, via)
    if (name !== 'trace' && name !== 'live')
      return createJsonResponse(200, sources[name](request, via))
    const answer = sources[name](request, via)
    return answer.kind === 'events' ? this.#limitStreams(answer.open, via) : answer
  }

  #answerMap(request: UiRequest, via: UiInterface): UiResponse {
    const cached = this.#map
    const generation = this.#sources.generation()
    if (cached?.generation === generation && performance.now() - cached.at < MAP_CACHE_MS)
      return cached.answer
    const answer = createJsonResponse(200, this.#sources.map(request, via))
    this.#map = { generation, at: performance.now(), answer }
    return answer
  }

  #limitStreams(open: (out: EventWriter) => () => void, via: UiInterface): UiResponse {
    const limit = this.#limitReachedAt(via)
    if (limit !== null) {
      this.#refusals?.count('maxReaders', limit)
      const reason = `${limit} are open already (config.ui.maxReaders)`
      return createErrorResponse(503, `too many event streams: ${reason}`)
    }
    return {
      kind: 'events',
      open: (out) => {
        // Other clients may have opened streams since the check above.
        if (this.#limitReachedAt(via) !== null) {
          out.end()
          return () => {}
        }
        const stop = open(out)
        this.#streams.set(out, via)
        return () => {
          this.#streams.delete(out)
          stop()
        }
      },
    }
  }

  /** The limit that is reached for new streams on the interface; null if none is. */
  #limitReachedAt(via: UiInterface): number | null {
    const { maxReaders } = this.#limits
    if (this.#streams.size >= maxReaders) return maxReaders
    if (via === 'admin') return null
    const streams = [...this.#streams.values()].filter((one) => one === via)
    const max = maxListenerStreams(this.#limits)
    return streams.length < max ? null : max
  }
}

function isBelow(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}/`)
}

/** Serves the web UI on node:http. `reportError` gets internal errors; the client gets a plain 500. */
export function createUiFallback(
  ui: UiService,
  reportError: (error: unknown) => void,
  via: UiInterface = 'admin',
): FallbackHandler {
  return (request, response, { pathname: path, searchParams: query }) => {
    const { method = '', headers } = request
    try {
      const acceptEncoding = [headers['accept-encoding'] ?? []].flat().join(', ')
      const ifNoneMatch = headers['if-none-match']
      const answer = ui.answer({ method, path, query, ifNoneMatch, acceptEncoding }, via)
      if (answer === null) return false
      request.resume()
      sendUiResponse(response, answer, method)
    } catch (error) {
      reportError(error)
      if (response.headersSent) response.destroy()
      else sendUiResponse(response, createErrorResponse(500, 'internal error'), method)
    }
    return true
  }
}

function sendUiResponse(response: ServerResponse, answer: UiResponse, method: string): void {
  if (answer.kind === 'whole') return sendWholeResponse(response, answer)
  if (method !== 'HEAD') return streamEvents(response, DEFAULT_KEEP_ALIVE_TIMING, answer.open)
  response.writeHead(200, nodeHeadersOf(EVENT_STREAM_HEADERS))
  response.end()
}

function sendWholeResponse(
  response: ServerResponse,
  { status, fields, content }: Extract<UiResponse, { kind: 'whole' }>,
): void {
  const headers = nodeHeadersOf(fields)
  if (status !== 304) headers['content-length'] = Buffer.byteLength(content)
  response.writeHead(status, headers)
  response.end(content)
}

function nodeHeadersOf(fields: UiHeaders): Record<string, string | number> {
  return Object.fromEntries(fields)
}
