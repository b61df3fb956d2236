// The page's server: the page, the files it is made of, and what it reads. It only ever reads; whatever changes something
// stands elsewhere, on the admin interface alone.

import { MAX_READERS, MAX_WATCHERS } from '../base/bounds/limits.ts'
import type { Refusals } from '../base/bounds/refusals.ts'
import { partPath, SIGNED_IN_PATH, UI_PARTS, UI_PATH } from '../base/places/ui-paths.ts'
import type { UiPart } from '../base/places/ui-paths.ts'
import type { EventOut } from '../base/sse/event-out.ts'
import { assetAnswer, jsonAnswer, pageAnswer, problem, unkept } from './answers.ts'
import type { ConfigView, LimitsView, Logs, MapView, McpView, Place, Runtime } from './api.ts'
import type { Answer, Ask } from './ask.ts'
import { Assets } from './assets.ts'

export interface ReaderBounds {
  /** Event streams at a time, wherever they are read. */
  readonly maxReaders: number
  readonly maxWatchers: number
}

const PRESETS: ReaderBounds = { maxReaders: MAX_READERS, maxWatchers: MAX_WATCHERS }

/** Of these, on listeners: whatever is read there, operators find room for theirs, and for their traces. */
export function listenerReaders({ maxReaders, maxWatchers } = PRESETS): number {
  return Math.ceil(Math.min(maxReaders, maxWatchers) / 2)
}

/** The map is the largest answer: those who ask within so many milliseconds of one configuration get the same. */
const MAP_KEPT_MS = 1000

const METHODS: readonly string[] = ['GET', 'HEAD']

const PARTS: ReadonlyMap<string, UiPart> = new Map(UI_PARTS.map((part) => [partPath(part), part]))

/** Made anew for each question, so cheap and bounded. `place` is where it was asked. */
type Read<T> = (ask: Ask, place: Place) => T

/** What a question leads to when its answer is not simply data; see `problem` of answers.ts for what is refused. */
type Tell = (ask: Ask, place: Place) => Answer

/** Where its data is from: one function for each part of the read API. */
export interface UiSources {
  readonly runtime: Read<Runtime>
  readonly map: Read<MapView>
  readonly limits: Read<LimitsView>
  readonly logs: Read<Logs>
  readonly mcp: Read<McpView>
  readonly config: Read<ConfigView>
  readonly trace: Tell
  readonly live: Tell
  /** Which configuration is in force. */
  readonly generation: () => number
}

interface KeptMap {
  readonly generation: number
  readonly at: number
  readonly answer: Answer
}

export class UiService {
  readonly #sources: UiSources
  readonly #assets = new Assets()
  readonly #readers = new Map<EventOut, Place>()
  readonly #bounds: ReaderBounds
  readonly #refusals: Refusals | null
  #map: KeptMap | null = null

  constructor(sources: UiSources, bounds = PRESETS, refusals: Refusals | null = null) {
    this.#sources = sources
    this.#bounds = bounds
    this.#refusals = refusals
  }

  /** Null for a path that is not one of its own. */
  answer(ask: Ask, place: Place): Answer | null {
    const { path, method } = ask
    if (!isBelow(path, UI_PATH) && !isBelow(path, '/api')) return null
    const answers = this.#answersTo(path, place)
    if (answers === null) return problem(404, 'not found')
    if (!METHODS.includes(method))
      return problem(405, `got ${method}, expected ${METHODS.join(' or ')}`, [
        ['allow', METHODS.join(', ')],
      ])
    return answers(ask)
  }

  /**
   * Ends what is read on gateways' listeners: when one stops, or when others may read it from now on than before. Browsers
   * ask again; a reader that takes nothing just now is given up, or its end would be waited for.
   */
  endListeners(): void {
    for (const [reader, place] of this.#readers) {
      if (place !== 'listener') continue
      if (reader.isFull) reader.destroy()
      else reader.end()
    }
  }

  #answersTo(path: string, place: Place): ((ask: Ask) => Answer) | null {
    if (path === UI_PATH || path === `${UI_PATH}/`)
      return (ask) => pageAnswer(this.#assets.page, ask)
    if (path === SIGNED_IN_PATH && place === 'admin')
      return (ask) => unkept(pageAnswer(this.#assets.page, { ...ask, ifNoneMatch: undefined }))
    const part = PARTS.get(path)
    if (part !== undefined) return (ask) => this.#tell(part, ask, place)
    const asset = this.#assets.find(path)
    return asset === undefined ? null : (ask) => assetAnswer(asset, ask)
  }

  #tell(part: UiPart, ask: Ask, place: Place): Answer {
    const sources = this.#sources
    if (part === 'map') return this.#mapAnswer(ask, place)
    if (part !== 'trace' && part !== 'live') return jsonAnswer(200, sources[part](ask, place))
    const answer = sources[part](ask, place)
    return answer.kind === 'events' ? this.#counted(answer.open, place) : answer
  }

  #mapAnswer(ask: Ask, place: Place): Answer {
    const kept = this.#map
    const generation = this.#sources.generation()
    if (kept?.generation === generation && performance.now() - kept.at < MAP_KEPT_MS)
      return kept.answer
    const answer = jsonAnswer(200, this.#sources.map(ask, place))
    this.#map = { generation, at: performance.now(), answer }
    return answer
  }

  #counted(open: (out: EventOut) => () => void, place: Place): Answer {
    const bound = this.#reached(place)
    if (bound !== null) {
      this.#refusals?.count('maxReaders', bound)
      const reason = `${bound} event streams are open already (config.ui.maxReaders)`
      return problem(503, `too many readers: ${reason}`)
    }
    return {
      kind: 'events',
      open: (out) => {
        // Others came between the question and its answer.
        if (this.#reached(place) !== null) {
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
  #reached(place: Place): number | null {
    const { maxReaders } = this.#bounds
    if (this.#readers.size >= maxReaders) return maxReaders
    if (place === 'admin') return null
    const there = [...this.#readers.values()].filter((one) => one === place)
    const most = listenerReaders(this.#bounds)
    return there.length < most ? null : most
  }
}

function isBelow(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}/`)
}
