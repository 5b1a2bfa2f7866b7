package evmsig

// InterfaceERC721 is the identifier of ERC-721 for supportsInterface: by ERC-165 that of all
// its functions together.
var InterfaceERC721 = together(
	SelBalanceOf, SelOwnerOf, SelSafeTransferFrom, SelSafeTransferFromData, SelTransferFrom, SelApprove,
	SelSetApprovalForAll, SelGetApproved, SelApprovedForAll,
)

func together(functions ...Selector) (id Selector) {
	for _, s := range functions {
		for i := range id {
			id[i] ^= s[i]
		}
	}
	return id
}
