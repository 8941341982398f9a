# The clients that the server is held against, pinned: a new version is a change of this file.
NODE=node@22
SDK=@modelcontextprotocol/sdk@1.32.2
INSPECTOR=@modelcontextprotocol/inspector@2.12.0
CONFORMANCE=@modelcontextprotocol/conformance@0.1.16
CONFORMANCE_NEXT=@modelcontextprotocol/conformance@0.2.0-alpha.12
GEMINI=@google/gemini-cli@0.61.0
MCP_REMOTE=mcp-remote@0.15.1
OPENCODE=opencode-ai@1.18.33
