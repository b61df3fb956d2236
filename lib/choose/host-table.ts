// Things by hostname: exact before the longest wildcard suffix, before those for any host.

export class HostTable<T> {
  readonly #exact = new Map<string, T>()
  /** By what follows the star: `.example.com`. */
  readonly #suffixes = new Map<string, T>()
  #any: T | undefined

  /** `hostname` in lower case, exact or `*.suffix`; '' for any. */
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
   * Asks `look` about what fits the host, the most specific first, until it finds something. `argument` is handed
   * through, so that callers on the hot path need no closure.
   */
  search<A, R>(
    authority: string,
    argument: A,
    look: (value: T, argument: A) => R | undefined,
  ): R | undefined {
    if (this.#exact.size > 0 || this.#suffixes.size > 0) {
      const found = this.#named(lowerCaseHostOf(authority), argument, look)
      if (found !== undefined) return found
    }
    return this.#any === undefined ? undefined : look(this.#any, argument)
  }

  #named<A, R>(
    host: string,
    argument: A,
    look: (value: T, argument: A) => R | undefined,
  ): R | undefined {
    const exact = this.#exact.get(host)
    const found = exact === undefined ? undefined : look(exact, argument)
    if (found !== undefined || this.#suffixes.size === 0) return found
    // From the second letter on: a star stands for at least one.
    for (let dot = host.indexOf('.', 1); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const value = this.#suffixes.get(host.substring(dot))
      const inside = value === undefined ? undefined : look(value, argument)
      if (inside !== undefined) return inside
    }
    return undefined
  }
}

/** The host of an authority, in lower case, without its port. */
function lowerCaseHostOf(authority: string): string {
  const colon = authority.lastIndexOf(':')
  // The colons of `[::1]` are no port's.
  const host = colon > authority.lastIndexOf(']') ? authority.substring(0, colon) : authority
  return host.toLowerCase()
}

// The listeners of one port, told apart by the hostname a client asks for.

export class ListenerTable<T extends { readonly hostname: string }> {
  readonly #hosts = new HostTable<T>()

  constructor(listeners: Iterable<T>) {
    for (const listener of listeners) this.#hosts.set(listener.hostname, listener)
  }

  /** By Host, or by the server name of a TLS handshake; '' if the client named none. */
  find(authority: string): T | undefined {
    return this.#hosts.search(authority, undefined, itself)
  }
}

function itself<T>(listener: T): T {
  return listener
}
