// What is odd in a provider's own metadata: clients are not sent to what is no web page, and operators hear of the rest.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import type { Log } from '../../base/log/log.ts'
import { shownUrl } from '../shown-url.ts'
import { ownUrl } from './providers/urls.ts'
import type { Metadata, Provider } from './types.ts'

/** Letters of a provider's words in one field. */
const MAX_LOGGED = 256

/** Members that clients follow. */
const FOLLOWED = /_endpoint$|^jwks_uri$/

/** The first member that leads nowhere a client should go; null when there is none. */
function oddMember(document: Metadata): string | null {
  const { mtls_endpoint_aliases: aliases } = document
  for (const [name, value] of [...Object.entries(document), ...Object.entries(aliases ?? {})])
    if (FOLLOWED.test(name) && value != null && !isWebUrl(value)) return name
  return null
}

function isWebUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)
}

/** The log hears of each document that was fetched once. */
export class MetadataCheck {
  readonly #config: McpAuthenticationConfig
  readonly #provider: Provider
  readonly #log: Log
  #told: Metadata | null = null

  constructor(config: McpAuthenticationConfig, provider: Provider, log: Log) {
    this.#config = config
    this.#provider = provider
    this.#log = log
  }

  /** Why the document made from what was found must not be served; null when it may. */
  look(found: Metadata, made: Metadata): string | null {
    const odd = oddMember(made)
    const fault = odd === null ? null : `${odd} is no http(s) URL`
    if (found === this.#told) return fault
    this.#told = found
    this.#lookAtIssuer(found)
    this.#lookAtRegistration(found)
    if (fault !== null) {
      const fields = ['issuer', this.#config.issuer, 'error', fault]
      this.#log.line('warn', 'auth', 'metadata cannot be used', fields)
    }
    return fault
  }

  #lookAtIssuer({ issuer: named }: Metadata): void {
    const { issuer } = this.#config
    if (named === this.#provider.namedIssuer(issuer)) return
    const other = typeof named === 'string' ? named.slice(0, MAX_LOGGED) : undefined
    const message = 'metadata names another issuer: its tokens may be refused'
    this.#log.line('warn', 'auth', message, ['issuer', issuer, 'named', other])
  }

  #lookAtRegistration(found: Metadata): void {
    const { issuer, clientId } = this.#config
    const { registration_endpoint: written } = found
    if (clientId !== null || written == null || ownUrl(written, issuer) !== null) return
    const isLeftOut = this.#provider.registrationUrl(found, issuer) === null
    const fate = isLeftOut ? 'left out' : 'not used'
    const isWeb = isWebUrl(written)
    const why = isWeb ? 'it is on another host than the issuer' : 'it is no http(s) URL'
    const url = isWeb ? shownUrl(written).slice(0, MAX_LOGGED) : undefined
    const fields = ['issuer', issuer, 'url', url]
    this.#log.line('warn', 'auth', `registration endpoint ${fate}: ${why}`, fields)
  }
}
