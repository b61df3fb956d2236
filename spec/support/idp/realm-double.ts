// A provider with realms, laid out as spec.md §4.3 has it: anonymous registration, RFC 8707 unknown to it, and its own
// `iss` in every callback.

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

/** The audience that its mapper puts into every token, whatever resource a client names. */
const AUDIENCE = 'https://mcp.example'

const DISTRUST = {
  error: 'insufficient_scope',
  error_description:
    "Policy 'Trusted Hosts' rejected request to client-registration service. Details: Host not trusted.",
}

export class RealmDouble extends Double {
  /** `no`: its policy of trusted hosts refuses every registration. */
  trusts: 'yes' | 'no' = 'yes'

  /** Keys take long to make: those who do not change them may share them. */
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
    answer(response, 403, DISTRUST)
    return true
  }
}

/** Of the parameters, what it knows: not `resource`. A login without a scope has the default ones. */
function known(text: string, scope = ''): string {
  const parameters = new URLSearchParams(text)
  parameters.delete('resource')
  if (scope !== '' && !parameters.has('scope')) parameters.set('scope', scope)
  return parameters.toString()
}
