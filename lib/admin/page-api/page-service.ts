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
  UiPlace,
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

export interface ReaderBounds {
  /** Event streams at a time, on the admin interface and on listeners together. */
  readonly maxReaders: number
  readonly maxWatchers: number
}

const DEFAULT_BOUNDS: ReaderBounds = {
  maxReaders: MAX_PAGE_STREAMS,
  maxWatchers: MAX_TRACE_WATCHERS,
}

/** Listeners get at most half, so that operators always can open streams and traces on the admin interface. */
export function maxListenerReaders({ maxReaders, maxWatchers } = DEFAULT_BOUNDS): number {
  return Math.ceil(Math.min(maxReaders, maxWatchers) / 2)
}

/** The map is the largest response: it is reused for this many milliseconds within one configuration. */
const MAP_CACHE_MS = 1000

const METHODS: readonly string[] = ['GET', 'HEAD']

const PARTS: ReadonlyMap<string, UiApiName> = new Map(
  UI_API_NAMES.map((part) => [uiApiPath(part), part]),
)

/** Builds a view for each request, so it must be cheap and bounded. `place` is where the request arrived. */
type ReadPart<T> = (request: UiRequest, place: UiPlace) => T

/** Builds a response that is not simply JSON. */
type AnswerPart = (request: UiRequest, place: UiPlace) => UiResponse

/** The data of the read API: one function for each part. */
export interface UiSources {
  readonly runtime: ReadPart<RuntimeView>
  readonly map: ReadPart<MapView>
  readonly limits: ReadPart<LimitsView>
  readonly logs: ReadPart<LogsView>
  readonly mcp: ReadPart<McpView>
  readonly config: ReadPart<ConfigView>
  readonly trace: AnswerPart
  readonly live: AnswerPart
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
  readonly #readers = new Map<EventWriter, UiPlace>()
  readonly #bounds: ReaderBounds
  readonly #refusals: RefusalCounter | null
  #map: CachedMap | null = null

  constructor(sources: UiSources, bounds = DEFAULT_BOUNDS, refusals: RefusalCounter | null = null) {
    this.#sources = sources
    this.#bounds = bounds
    this.#refusals = refusals
  }

  /** Null for a path outside of the web UI. */
  answer(request: UiRequest, place: UiPlace): UiResponse | null {
    const { path, method } = request
    const isOwn = isBelow(path, UI_PATH) || isBelow(path, '/api') || path === FAVICON_PATH
    if (!isOwn) return null
    const handler = this.#handlerFor(path, place)
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
    for (const [reader, place] of this.#readers) {
      if (place !== 'listener') continue
      if (reader.isFull) reader.destroy()
      else reader.end()
    }
  }

  #handlerFor(path: string, place: UiPlace): ((request: UiRequest) => UiResponse) | null {
    if (path === UI_PATH || path === `${UI_PATH}/`)
      return (request) => createPageResponse(this.#assets.page, request)
    if (path === SIGNED_IN_PATH && place === 'admin')
      return (request) =>
        preventCaching(
          createPageResponse(this.#assets.page, { ...request, ifNoneMatch: undefined }),
        )
    const part = PARTS.get(path)
    if (part !== undefined) return (request) => this.#answerPart(part, request, place)
    const asset = this.#assets.find(path)
    return asset === undefined ? null : (request) => createAssetResponse(asset, request)
  }

  #answerPart(part: UiApiName, request: UiRequest, place: UiPlace): UiResponse {
    const sources = this.#sources
    if (part === 'map') return this.#mapAnswer(request, place)
    if (part !== 'trace' && part !== 'live')
      return createJsonResponse(200, sources[part](request, place))
    const answer = sources[part](request, place)
    return answer.kind === 'events' ? this.#countReader(answer.open, place) : answer
  }

  #mapAnswer(request: UiRequest, place: UiPlace): UiResponse {
    const cached = this.#map
    const generation = this.#sources.generation()
    if (cached?.generation === generation && performance.now() - cached.at < MAP_CACHE_MS)
      return cached.answer
    const answer = createJsonResponse(200, this.#sources.map(request, place))
    this.#map = { generation, at: performance.now(), answer }
    return answer
  }

  #countReader(open: (out: EventWriter) => () => void, place: UiPlace): UiResponse {
    const bound = this.#limitReachedAt(place)
    if (bound !== null) {
      this.#refusals?.count('maxReaders', bound)
      const reason = `${bound} event streams are open already (config.ui.maxReaders)`
      return createErrorResponse(503, `too many readers: ${reason}`)
    }
    return {
      kind: 'events',
      open: (out) => {
        // Others may have opened a stream since the check above.
        if (this.#limitReachedAt(place) !== null) {
          out.end()
          return () => {}
        }
        const leave = open(out)
        this.#readers.set(out, place)
        return () => {
          this.#readers.delete(out)
          leave()
        }
      },
    }
  }

  /** The limit that refuses one more reader there; null if there is none. */
  #limitReachedAt(place: UiPlace): number | null {
    const { maxReaders } = this.#bounds
    if (this.#readers.size >= maxReaders) return maxReaders
    if (place === 'admin') return null
    const readers = [...this.#readers.values()].filter((one) => one === place)
    const max = maxListenerReaders(this.#bounds)
    return readers.length < max ? null : max
  }
}

function isBelow(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}/`)
}

/** Serves the web UI on node:http. `reportError` gets internal errors; the client sees only that there was one. */
export function createUiFallback(
  ui: UiService,
  reportError: (error: unknown) => void,
  place: UiPlace = 'admin',
): FallbackHandler {
  return (request, response, { pathname: path, searchParams: query }) => {
    const { method = '', headers } = request
    try {
      const acceptEncoding = [headers['accept-encoding'] ?? []].flat().join(', ')
      const ifNoneMatch = headers['if-none-match']
      const answer = ui.answer({ method, path, query, ifNoneMatch, acceptEncoding }, place)
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
