import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isAllowedRedirectUri } from '../../../lib/enforce/oauth/registration.ts'

const uris = suite('redirect uri')

uris('allows pages over TLS, loopback and app schemes', () => {
  for (const uri of [
    'https://claude.ai/api/mcp/auth_callback',
    'https://a.example:8443/cb?x=1&y=%20',
    'http://localhost/callback',
    'http://localhost:33418/',
    'http://127.0.0.1:6274/oauth/callback',
    'http://[::1]:3000/cb',
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'vscode://vscode.github-authentication/did-authenticate',
    'com.example.app:/oauth2redirect',
  ])
    assert.ok(isAllowedRedirectUri(uri), uri)
})

uris('rejects executable schemes, remote plain HTTP and ambiguous URIs', () => {
  for (const uri of [
    '',
    'callback',
    '/cb',
    '//evil.example/cb',
    'javascript:alert(1)',
    'JavaScript://%0aalert(1)',
    'java\tscript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,<script>',
    'data://x',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://a.example/1',
    'view-source://a.example',
    'ws://a.example',
    'ftp://a.example/',
    'mailto:a@b.example',
    'urn:ietf:wg:oauth:2.0:oob',
    'http://evil.example/cb',
    'http://localhost.evil.example/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://localhost@evil.example/cb',
    'https://a.example@evil.example/cb',
    'https://a.example/cb#fragment',
    'https://a.example/cb#',
    'https://a.example/c b',
    'https://a.example/\r\nset-cookie: a=b',
    'https://a.example/\u00e9',
    'https://',
  ])
    assert.not.ok(isAllowedRedirectUri(uri), JSON.stringify(uri))
})

uris.run()
