// A provider with realms as spec.md §4.3 describes it: anonymous registration, no support of RFC 8707, and its own `iss` in
// every callback.

import type { ServerResponse } from 'node:http'
import type { JWTPayload } from 'jose'
import type { Configuration } from 'oidc-provider'
import { Double } from './double.ts'
import { answer } from './host.ts'
import type { Request } from './host.ts'
import { SigningKeys } from './signing-keys.ts'

const MOUNT = '/realms/test'
const PROTOCOL = '/protocol/openid-connect'
const REGISTRATION = '/clients-registrations/openid-connect'

/** The audience that its mapper puts into every token, independent of the requested resource. */
const AUDIENCE = 'https://mcp.example'

const UNTRUSTED_HOST = {
  error: 'insufficient_scope',
  error_description:
    "Policy 'Trusted Hosts' rejected request to client-registration service. Details: Host not trusted.",
}

export class RealmDouble extends Double {
  /** With `no`, the policy of trusted hosts refuses every registration. */
  trusts: 'yes' | 'no' = 'yes'

  /** Keys are slow to generate: specs that do not rotate them may share them. */
  static async start(keys?: SigningKeys): Promise<RealmDouble> {
    return new RealmDouble(keys ?? (await SigningKeys.create()), MOUNT).up()
  }

  get issuer(): string {
    return `${this.host.origin}${MOUNT}`
  }

  get audience(): string {
    return AUDIENCE
  }

  protected override claims(name: string): JWTPayload {
    return {
      typ: 'Bearer',
      preferred_username: name,
      realm_access: { roles: ['default-roles-test', ...this.rolesOf(name)] },
    }
  }

  protected override configuration(): Configuration {
    return {
      scopes: ['openid', 'offline_access', 'profile', 'email', 'mcp'],
      routes: {
        authorization: `${PROTOCOL}/auth`,
        token: `${PROTOCOL}/token`,
        jwks: `${PROTOCOL}/certs`,
        userinfo: `${PROTOCOL}/userinfo`,
        registration: REGISTRATION,
      },
      features: {
        devInteractions: { enabled: false },
        registration: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => AUDIENCE,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: 'mcp',
            audience: AUDIENCE,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
    }
  }

  protected override answers(request: Request, response: ServerResponse): boolean {
    const [path = '', query = ''] = request.url.split('?')
    if (path === `/.well-known/oauth-authorization-server${MOUNT}`)
      request.url = `${MOUNT}/.well-known/openid-configuration`
    if (path === `${MOUNT}${PROTOCOL}/auth`) request.url = `${path}?${known(query, 'openid')}`
    if (path === `${MOUNT}${PROTOCOL}/token`) request.body = known(request.body)
    if (path !== `${MOUNT}${REGISTRATION}` || this.trusts === 'yes') return false
    answer(response, 403, UNTRUSTED_HOST)
    return true
  }
}

/** The supported parameters, without `resource`. A login without a scope gets the default scope. */
function known(text: string, scope = ''): string {
  const parameters = new URLSearchParams(text)
  parameters.delete('resource')
  if (scope !== '' && !parameters.has('scope')) parameters.set('scope', scope)
  return parameters.toString()
}
