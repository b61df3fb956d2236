// Which origins a list lets in: exact ones, ones with a star in the host, or all.

const DEFAULT_PORTS: Record<string, string> = { http: ':80', https: ':443', ws: ':80', wss: ':443' }

export class Origins {
  /** Everybody is let in, so answers do not depend on who asks. */
  readonly isAny: boolean
  readonly #exact = new Set<string>()
  readonly #patterns: RegExp[] = []

  constructor(origins: readonly string[]) {
    this.isAny = origins.includes('*')
    for (const origin of origins.map(normal))
      if (origin.includes('*')) this.#patterns.push(patternOf(origin))
      else this.#exact.add(origin)
  }

  allows(origin: string): boolean {
    if (this.isAny || this.#exact.has(origin)) return true
    const text = normal(origin)
    return this.#exact.has(text) || this.#patterns.some((pattern) => pattern.test(text))
  }
}

/** In lower case, and without the port that its scheme implies. */
function normal(origin: string): string {
  const text = origin.toLowerCase()
  const port = DEFAULT_PORTS[text.substring(0, text.indexOf(':'))]
  return port !== undefined && text.endsWith(port) ? text.slice(0, -port.length) : text
}

/** A star stands for letters of a host name, never for a scheme, a port or a user. */
function patternOf(origin: string): RegExp {
  const parts = origin.split('*').map((part) => part.replace(/[.[\]+]/g, '\\$&'))
  return new RegExp(`^${parts.join('[a-z0-9._-]+')}$`)
}
