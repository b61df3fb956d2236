// A provider's key set: fetched when first needed and when it has grown old, or when a token names a key that is not in
// it. The last good set stays in use while the provider is down.

import { messageOf } from '../../base/errors.ts'
import type { Fetch } from '../../base/fetch-text.ts'
import { objectIn } from '../../base/json/object-in.ts'
import type { Log } from '../../base/log/log.ts'
import { shownUrl } from '../shown-url.ts'
import { Keys } from './keys.ts'

/** How long a set is fresh when the provider does not say, and at least and at most, whatever it says. */
const FRESH_MS = 900_000
const MIN_FRESH_MS = 60_000
const MAX_FRESH_MS = 86_400_000

/** How long behind that a set serves while a new one is fetched; whoever comes later waits for the new one. */
const GRACE_MS = 60_000

/** Unknown key ids are cheap to invent: they make nobody fetch more often than this. */
const COOLDOWN_MS = 30_000
/** After a failure. */
const RETRY_MS = 5_000

export interface Clock {
  now(): number
}

/** Where keys come from: a file's, which are there, or a provider's. */
export interface KeySource {
  /** Counts up with every other set. */
  readonly generation: number
  /** The keys, or why there are none. */
  current(): Keys | Promise<Keys | string>
  /** Once more from the provider, unless that was done just now; true when the set is another one. */
  renew(): Promise<boolean>
}

export class RemoteKeys implements KeySource {
  readonly #url: string
  readonly #shown: string
  readonly #fetch: Fetch
  readonly #log: Log
  readonly #clock: Clock
  #keys: Keys | null = null
  #text = ''
  #generation = 0
  #fetching: Promise<string> | null = null
  #fetchedAt = 0
  #freshUntil = 0
  #nextTry = 0
  /** When a missing key may make it fetch again. */
  #renewBy = 0
  #reason = ''

  constructor(url: string, fetch: Fetch, log: Log, clock: Clock) {
    this.#url = url
    this.#shown = shownUrl(url)
    this.#fetch = fetch
    this.#log = log
    this.#clock = clock
  }

  get generation(): number {
    return this.#generation
  }

  /** For the dump. */
  get status(): { url: string; kids: string[]; ageSeconds: number | null; error: string | null } {
    return {
      url: this.#shown,
      kids: this.#keys?.ids ?? [],
      ageSeconds:
        this.#keys === null ? null : Math.round((this.#clock.now() - this.#fetchedAt) / 1000),
      error: this.#reason === '' ? null : this.#reason,
    }
  }

  current(): Keys | Promise<Keys | string> {
    const now = this.#clock.now()
    const keys = this.#keys
    if (keys === null) return this.#first()
    if (now < this.#freshUntil || now < this.#nextTry) return keys
    const isDown = this.#reason !== ''
    const fetching = this.#fetchOnce()
    // Keys may have been removed long ago. A provider that was down just now is not waited for.
    if (now < this.#freshUntil + GRACE_MS || isDown) return keys
    return fetching.then(() => this.#keys ?? keys)
  }

  async renew(): Promise<boolean> {
    const before = this.#generation
    const now = this.#clock.now()
    const isCool = now >= this.#renewBy && now >= this.#nextTry
    if (this.#fetching === null && !isCool) return false
    // From the last time a key was missed: a rotation right behind a regular fetch is seen at once.
    this.#renewBy = now + COOLDOWN_MS
    await this.#fetchOnce()
    return this.#generation !== before
  }

  async #first(): Promise<Keys | string> {
    if (this.#fetching === null && this.#clock.now() < this.#nextTry) return this.#reason
    const reason = await this.#fetchOnce()
    return this.#keys ?? reason
  }

  /** Whoever asks while it is under way waits for the same answer. Never throws. */
  #fetchOnce(): Promise<string> {
    this.#fetching ??= this.#fetchNow().finally(() => (this.#fetching = null))
    return this.#fetching
  }

  async #fetchNow(): Promise<string> {
    try {
      const { status, text, headers } = await this.#fetch(this.#url)
      if (status !== 200) throw new Error(`status ${status}`)
      this.#take(text(), freshness(String(headers['cache-control'] ?? '')))
      this.#reason = ''
    } catch (error) {
      this.#nextTry = this.#clock.now() + RETRY_MS
      this.#reason = messageOf(error)
      const kept = this.#keys === null ? 'none' : 'the last good set'
      this.#log.line('warn', 'auth', 'cannot fetch key set', [
        ...['url', this.#shown, 'error', this.#reason],
        ...['keys', kept],
      ])
    }
    return this.#reason
  }

  #take(text: string, fresh: number): void {
    const now = this.#clock.now()
    if (text !== this.#text || this.#keys === null) {
      // What it says instead may repeat what it was asked, and is not told.
      const keys = objectIn(text)?.['keys']
      if (!Array.isArray(keys)) throw new Error('no key set')
      this.#keys = new Keys(keys, ++this.#generation)
      this.#text = text
      this.#tell(this.#keys)
    }
    this.#fetchedAt = now
    this.#freshUntil = now + fresh
  }

  #tell({ ids, leftOut }: Keys): void {
    this.#log.line('info', 'auth', 'fetched key set', ['url', this.#shown, 'keys', ids.length])
    if (leftOut.size === 0) return
    const why = [...leftOut].map(([reason, count]) => `${reason}: ${count}`).join(', ')
    this.#log.line('warn', 'auth', 'keys left out of the set', ['url', this.#shown, 'why', why])
  }
}

/** What the provider says of how long its answer holds. */
function freshness(cacheControl: string): number {
  if (/no-(?:cache|store)/i.test(cacheControl)) return MIN_FRESH_MS
  const [, seconds] = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(cacheControl) ?? []
  if (seconds === undefined) return FRESH_MS
  return Math.min(MAX_FRESH_MS, Math.max(MIN_FRESH_MS, Number(seconds) * 1000))
}
