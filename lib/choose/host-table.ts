// Lookup by hostname: an exact name first, then the longest wildcard suffix, then the entry for any host.

export class HostTable<T> {
  readonly #exact = new Map<string, T>()
  /** Keyed by the part after the star: `.example.com`. */
  readonly #suffixes = new Map<string, T>()
  #any: T | undefined

  /** `hostname` is in lower case: an exact name, `*.suffix`, or '' for any host. */
  set(hostname: string, value: T): void {
    if (hostname === '') this.#any = value
    else if (hostname.startsWith('*')) this.#suffixes.set(hostname.substring(1), value)
    else this.#exact.set(hostname, value)
  }

  get(hostname: string): T | undefined {
    if (hostname === '') return this.#any
    return hostname.startsWith('*')
      ? this.#suffixes.get(hostname.substring(1))
      : this.#exact.get(hostname)
  }

  /**
   * Calls `look` for each entry that matches the host, the most specific first, until it returns a result.
   * `authority` has the form of `normalizeAuthority`. `argument` is passed through, so that callers on the hot path need no closure.
   */
  search<A, R>(
    authority: string,
    argument: A,
    look: (value: T, argument: A) => R | undefined,
  ): R | undefined {
    if (this.#exact.size > 0 || this.#suffixes.size > 0) {
      const found = this.#searchNamed(removePort(authority), argument, look)
      if (found !== undefined) return found
    }
    return this.#any === undefined ? undefined : look(this.#any, argument)
  }

  #searchNamed<A, R>(
    host: string,
    argument: A,
    look: (value: T, argument: A) => R | undefined,
  ): R | undefined {
    const exact = this.#exact.get(host)
    const found = exact === undefined ? undefined : look(exact, argument)
    if (found !== undefined || this.#suffixes.size === 0) return found
    // From the second character on: a star matches at least one character.
    for (let dot = host.indexOf('.', 1); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const value = this.#suffixes.get(host.substring(dot))
      const result = value === undefined ? undefined : look(value, argument)
      if (result !== undefined) return result
    }
    return undefined
  }
}

function removePort(authority: string): string {
  const colon = authority.lastIndexOf(':')
  // A colon inside brackets, as in `[::1]`, does not start a port.
  return colon > authority.lastIndexOf(']') ? authority.substring(0, colon) : authority
}

/** The listeners of one port, selected by the hostname that the client requests. */
export class ListenerTable<T extends { readonly hostname: string }> {
  readonly #hosts = new HostTable<T>()

  constructor(listeners: Iterable<T>) {
    for (const listener of listeners) this.#hosts.set(listener.hostname, listener)
  }

  /** `authority` is `request.authority`; '' when the client sent none. */
  find(authority: string): T | undefined {
    return this.#hosts.search(authority, undefined, identity)
  }
}

function identity<T>(listener: T): T {
  return listener
}
