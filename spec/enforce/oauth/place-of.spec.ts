import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseOAuthPath } from '../../../lib/enforce/oauth/public-urls.ts'
import { OPENID, RESOURCE, SERVER } from './asking.ts'

const places = suite('OAuth paths')

/** `kind form`, or the other result. */
function placed(path: string, own = '/mcp'): string | null {
  const place = parseOAuthPath(path, own)
  return place === null ? null : `${place.kind} ${place.form}`
}

function check(own: string, table: Record<string, string | null>): void {
  for (const [path, expected] of Object.entries(table)) assert.is(placed(path, own), expected, path)
}

places('finds the documents of a resource in every form that clients request', () => {
  check('/mcp', {
    [RESOURCE]: 'resource bare',
    [`${RESOURCE}/mcp`]: 'resource resource',
    [`${RESOURCE}/mcp/`]: 'resource resource',
    [`${RESOURCE}/other`]: 'resource bare',
    [SERVER]: 'server bare',
    [`${SERVER}/`]: 'server bare',
    [`${SERVER}/mcp`]: 'server resource',
    [`${SERVER}/mcp/`]: 'server resource',
    [`/mcp${SERVER}`]: 'server resource',
    [OPENID]: 'server bare',
    [`${OPENID}/mcp`]: 'server resource',
    [`/mcp${OPENID}`]: 'server resource',
  })
})

places('finds the endpoints below each form of the metadata', () => {
  for (const [root, form] of [
    [SERVER, 'bare'],
    [`${SERVER}/mcp`, 'resource'],
    [`/mcp${SERVER}`, 'resource'],
  ] as const)
    check('/mcp', {
      [`${root}/client-registration`]: `registration ${form}`,
      [`${root}/client-registration/abc`]: `client ${form}`,
      [`${root}/authorize`]: `authorize ${form}`,
      [`${root}/token`]: `token ${form}`,
    })
})

places('has no document for a suffix that was never advertised', () => {
  check('/mcp', {
    [`${SERVER}/other`]: 'unknown bare',
    [`${SERVER}/mcpx`]: 'unknown bare',
    [`${SERVER}/mcp/mcp`]: 'unknown resource',
    [`${SERVER}/x/client-registration`]: 'unknown bare',
    [`${SERVER}//`]: 'unknown bare',
    [`${OPENID}/token`]: 'unknown bare',
    [`${OPENID}/mcp/client-registration`]: 'unknown resource',
  })
})

places('ignores all other paths, which need a token', () => {
  check('/mcp', {
    '/mcp': null,
    '/.well-known/': null,
    '/.well-known/jwks.json': null,
    [`${RESOURCE}s`]: null,
    [`${SERVER}s/mcp`]: null,
    [`/other${SERVER}`]: null,
    [`/mcp${RESOURCE}`]: null,
    [`/mcp/deep${SERVER}`]: null,
    [`/${SERVER}`]: null,
    [SERVER.toUpperCase()]: null,
    '/.well-known/oauth%2Dprotected-resource': null,
  })
})

places('supports a resource at the root, and one with a long path', () => {
  check('', {
    [RESOURCE]: 'resource resource',
    [SERVER]: 'server resource',
    [OPENID]: 'server resource',
    [`${SERVER}/token`]: 'token resource',
    [`${SERVER}/mcp`]: 'unknown resource',
  })
  check('/a/b', {
    [`${RESOURCE}/a/b`]: 'resource resource',
    [`${SERVER}/a/b`]: 'server resource',
    [`/a/b${SERVER}`]: 'server resource',
    [`${SERVER}/a`]: 'unknown bare',
    [`${SERVER}/a/b/token`]: 'token resource',
  })
})

places.run()
