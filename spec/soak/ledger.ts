// Records every request of a soak: its actor, how it ended for its client, and its line in the access log.

/** How a request ended for its client: as expected, refused by a limit, or cut by the client or the backend. */
export type End = 'whole' | 'refused' | 'broken'

/** The most complaints that are kept; more are only counted. */
const MAX_FAULTS = 20

interface Entry {
  readonly kind: string
  end: End | 'open'
  lines: number
}

export class Ledger {
  readonly faults: string[] = []
  readonly outcomes = new Map<string, number>()
  /** Requests without their end or their log line, by path. */
  readonly #open = new Map<string, Entry>()
  readonly #ends = new Map<string, number>()
  #last = 0
  #sent = 0
  #faultCount = 0

  get sent(): number {
    return this.#sent
  }

  /** The number of all complaints, of which `faults` has the first. */
  get faultCount(): number {
    return this.#faultCount
  }

  /** The path of a new request of this kind. */
  begin(kind: string): string {
    const path = `/${kind}/${++this.#last}`
    this.#open.set(path, { kind, end: 'open', lines: 0 })
    this.#sent++
    return path
  }

  /** A request that shares its path with others: its line is only counted. */
  counted(kind: string, end: End): void {
    this.#sent++
    add(this.#ends, `${kind} ${end}`)
  }

  end(path: string, end: End): void {
    const entry = this.#open.get(path)
    if (entry === undefined) return this.fault(`${path} ended twice`)
    entry.end = end
    add(this.#ends, `${entry.kind} ${end}`)
    this.#close(path, entry)
  }

  /** A line of the access log. */
  logged(path: string, outcome: string): void {
    add(this.outcomes, `${path.split('/')[1]} ${outcome}`)
    const entry = this.#open.get(path)
    if (entry === undefined) return
    entry.lines++
    if (entry.lines > 1) this.fault(`${path} was logged twice`)
    this.#close(path, entry)
  }

  fault(text: string): void {
    this.#faultCount++
    if (this.faults.length < MAX_FAULTS) this.faults.push(text)
  }

  count(kind: string, end: End): number {
    return this.#ends.get(`${kind} ${end}`) ?? 0
  }

  /** Requests without their end or their line, except cut ones, which may not have reached the gateway completely. */
  unaccounted(): string[] {
    return [...this.#open]
      .filter(([, { end }]) => end !== 'broken')
      .map(([path, { end, lines }]) => `${path}: ${end}, ${lines} lines`)
  }

  get ends(): Record<string, number> {
    return Object.fromEntries(this.#ends)
  }

  #close(path: string, { end, lines }: Entry): void {
    if (end !== 'open' && lines > 0) this.#open.delete(path)
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
