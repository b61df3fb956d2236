// An identity provider on oidc-provider that asks nobody: whoever sits at the browser is logged in and consents.
// What a provider does in its own way, its double adds.

import type { ServerResponse } from 'node:http'
import type { JWTPayload } from 'jose'
import Provider from 'oidc-provider'
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider'
import { Host } from './host.ts'
import type { Request } from './host.ts'
import type { SigningKeys } from './signing-keys.ts'
import { Store } from './store.ts'

/** Where a browser is sent in the end; nobody listens there. */
export const CALLBACK = 'http://127.0.0.1:9/callback'

const TOKEN_SECONDS = 300

/** By the name with which they log in: their roles. */
const PEOPLE: Readonly<Record<string, readonly string[]>> = { ada: ['mcp-user'], bob: ['guest'] }

export type Name = 'ada' | 'bob'

export abstract class Double {
  /** Who sits at the browser. */
  user: Name = 'ada'
  readonly host: Host
  readonly keys: SigningKeys
  readonly #mount: string
  readonly #store = new Store()
  #provider: Provider | null = null

  protected constructor(keys: SigningKeys, mount: string) {
    this.keys = keys
    this.#mount = mount
    this.host = new Host((request, response) => this.#serve(request, response))
  }

  /** Of its access tokens. */
  abstract get issuer(): string
  abstract get audience(): string
  protected abstract configuration(): Configuration
  /** What its access tokens say of someone. */
  protected abstract claims(name: string): JWTPayload

  async up(): Promise<this> {
    await this.host.up()
    this.#provider ??= this.#build()
    return this
  }

  async down(): Promise<void> {
    await this.host.down()
  }

  async rotate(old: 'keep' | 'remove'): Promise<void> {
    await this.keys.rotate(old)
    this.#provider = this.#build()
  }

  /** A token that it might have issued, but for what is given. */
  async token(given: JWTPayload = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    return this.keys.sign({
      iss: this.issuer,
      aud: this.audience,
      sub: this.user,
      iat: now,
      exp: now + TOKEN_SECONDS,
      ...this.claims(this.user),
      ...given,
    })
  }

  /** Of everything else. */
  protected get ownIssuer(): string {
    return this.issuer
  }

  protected rolesOf(name: string): readonly string[] {
    return PEOPLE[name] ?? []
  }

  /** May answer before the provider does; then true. */
  protected answers(_request: Request, _response: ServerResponse): boolean {
    return false
  }

  protected adapt(_provider: Provider): void {}

  #build(): Provider {
    const provider = new Provider(this.ownIssuer, {
      ...this.#common(),
      ...this.configuration(),
    })
    this.adapt(provider)
    return provider
  }

  #common(): Configuration {
    return {
      adapter: (kind) => this.#store.of(kind),
      // oidc-provider's own type of a key wants more members of each kind than jose's has.
      jwks: { keys: this.keys.all as { kty: 'RSA' }[] },
      cookies: { keys: ['spec'] },
      pkce: { required: () => true },
      ttl: {
        AccessToken: TOKEN_SECONDS,
        Grant: 3600,
        IdToken: TOKEN_SECONDS,
        Interaction: 60,
        RefreshToken: 3600,
        Session: 3600,
      },
      findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
      interactions: { url: (_ctx, { uid }) => `${this.#mount}/interaction/${uid}` },
      issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
      loadExistingGrant: (ctx) => this.#consent(ctx),
      formats: {
        customizers: {
          jwt: (_ctx, token, made) => {
            // Neither provider says at+jwt.
            made.header = { typ: 'JWT' }
            Object.assign(made.payload, this.claims('accountId' in token ? token.accountId : ''))
          },
        },
      },
    }
  }

  async #consent({ oidc }: KoaContextWithOIDC) {
    const grant = new oidc.provider.Grant()
    if (oidc.client !== undefined) grant.clientId = oidc.client.clientId
    grant.accountId = this.user
    const scope = oidc.params?.scope
    const scopes = typeof scope === 'string' ? scope : 'openid'
    grant.addOIDCScope(scopes)
    for (const resource of Object.keys(oidc.resourceServers ?? {}))
      grant.addResourceScope(resource, scopes)
    await grant.save()
    return grant
  }

  #serve(request: Request, response: ServerResponse): void {
    if (this.answers(request, response)) return
    if (!request.url.startsWith(this.#mount)) {
      response.writeHead(404).end()
      return
    }
    const provider = this.#provider!
    if (request.url.startsWith(`${this.#mount}/interaction/`)) {
      const login = { accountId: this.user }
      void provider.interactionFinished(request, response, { login, consent: {} })
      return
    }
    // koa-mount's way: the whole address in one place, the rest of it in the other.
    Object.assign(request, { originalUrl: request.url })
    request.url = request.url.slice(this.#mount.length)
    void provider.callback()(request, response)
  }
}
