// One bearer token for all requests of the auth measures, and its key set.
import { SignJWT, exportJWK, generateKeyPair } from 'jose'

export const ISSUER = 'https://issuer.test'
export const AUDIENCE = 'perf'

const { publicKey, privateKey } = await generateKeyPair('RS256')

export const JWKS = JSON.stringify({
  keys: [{ ...(await exportJWK(publicKey)), kid: 'perf', alg: 'RS256', use: 'sig' }],
})

export const TOKEN = await new SignJWT({ sub: 'perf', realm_access: { roles: ['mcp-user'] } })
  .setProtectedHeader({ alg: 'RS256', kid: 'perf' })
  .setIssuer(ISSUER)
  .setAudience(AUDIENCE)
  .setExpirationTime('1h')
  .sign(privateKey)
