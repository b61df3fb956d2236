// The page's server: the page, the files it is made of, and what it reads. It only ever reads; whatever changes something
// stands elsewhere, on the admin interface alone.

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
  /** Event streams at a time, wherever they are read. */
  readonly maxReaders: number
  readonly maxWatchers: number
}

const PRESETS: ReaderBounds = { maxReaders: MAX_PAGE_STREAMS, maxWatchers: MAX_TRACE_WATCHERS }

/** Of these, on listeners: whatever is read there, operators find room for theirs, and for their traces. */
export function maxListenerReaders({ maxReaders, maxWatchers } = PRESETS): number {
  return Math.ceil(Math.min(maxReaders, maxWatchers) / 2)
}

/** The map is the largest answer: those who ask within so many milliseconds of one configuration get the same. */
const MAP_KEPT_MS = 1000

const METHODS: readonly string[] = ['GET', 'HEAD']

const PARTS: ReadonlyMap<string, UiApiName> = new Map(
  UI_API_NAMES.map((part) => [uiApiPath(part), part]),
)

/** Made anew for each question, so cheap and bounded. `place` is where it was asked. */
type ReadPart<T> = (ask: UiRequest, place: UiPlace) => T

/** What a question leads to when its answer is not simply data; see `problem` of answers.ts for what is refused. */
type AnswerPart = (ask: UiRequest, place: UiPlace) => UiResponse

/** Where its data is from: one function for each part of the read API. */
export interface UiSources {
  readonly runtime: ReadPart<RuntimeView>
  readonly map: ReadPart<MapView>
  readonly limits: ReadPart<LimitsView>
  readonly logs: ReadPart<LogsView>
  readonly mcp: ReadPart<McpView>
  readonly config: ReadPart<ConfigView>
  readonly trace: AnswerPart
  readonly live: AnswerPart
  /** Which configuration is in force. */
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

  constructor(sources: UiSources, bounds = PRESETS, refusals: RefusalCounter | null = null) {
    this.#sources = sources
    this.#bounds = bounds
    this.#refusals = refusals
  }

  /** Null for a path that is not one of its own. */
  answer(ask: UiRequest, place: UiPlace): UiResponse | null {
    const { path, method } = ask
    const isOwn = isBelow(path, UI_PATH) || isBelow(path, '/api') || path === FAVICON_PATH
    if (!isOwn) return null
    const answers = this.#answersTo(path, place)
    if (answers === null) return createErrorResponse(404, 'not found')
    if (!METHODS.includes(method))
      return createErrorResponse(405, `got ${method}, expected ${METHODS.join(' or ')}`, [
        ['allow', METHODS.join(', ')],
      ])
    return answers(ask)
  }

  /**
   * Ends what is read on gateways' listeners: when one stops, or when others may read it from now on than before. Browsers
   * ask again; a reader that takes nothing just now is given up, or its end would be waited for.
   */
  endListenerStreams(): void {
    for (const [reader, place] of this.#readers) {
      if (place !== 'listener') continue
      if (reader.isFull) reader.destroy()
      else reader.end()
    }
  }

  #answersTo(path: string, place: UiPlace): ((ask: UiRequest) => UiResponse) | null {
    if (path === UI_PATH || path === `${UI_PATH}/`)
      return (ask) => createPageResponse(this.#assets.page, ask)
    if (path === SIGNED_IN_PATH && place === 'admin')
      return (ask) =>
        preventCaching(createPageResponse(this.#assets.page, { ...ask, ifNoneMatch: undefined }))
    const part = PARTS.get(path)
    if (part !== undefined) return (ask) => this.#tell(part, ask, place)
    const asset = this.#assets.find(path)
    return asset === undefined ? null : (ask) => createAssetResponse(asset, ask)
  }

  #tell(part: UiApiName, ask: UiRequest, place: UiPlace): UiResponse {
    const sources = this.#sources
    if (part === 'map') return this.#mapAnswer(ask, place)
    if (part !== 'trace' && part !== 'live')
      return createJsonResponse(200, sources[part](ask, place))
    const answer = sources[part](ask, place)
    return answer.kind === 'events' ? this.#countReader(answer.open, place) : answer
  }

  #mapAnswer(ask: UiRequest, place: UiPlace): UiResponse {
    const kept = this.#map
    const generation = this.#sources.generation()
    if (kept?.generation === generation && performance.now() - kept.at < MAP_KEPT_MS)
      return kept.answer
    const answer = createJsonResponse(200, this.#sources.map(ask, place))
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
        // Others came between the question and its answer.
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

  /** The bound that keeps out one more there. */
  #limitReachedAt(place: UiPlace): number | null {
    const { maxReaders } = this.#bounds
    if (this.#readers.size >= maxReaders) return maxReaders
    if (place === 'admin') return null
    const there = [...this.#readers.values()].filter((one) => one === place)
    const most = maxListenerReaders(this.#bounds)
    return there.length < most ? null : most
  }
}

function isBelow(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}/`)
}

// The page's server behind node:http, as the admin interface has it.

/** `troubled` is told of a fault of ours; who asked hears no more than that there was one. */
export function createUiFallback(
  ui: UiService,
  troubled: (error: unknown) => void,
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
      troubled(error)
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
